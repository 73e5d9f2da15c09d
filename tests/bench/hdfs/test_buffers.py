"""Buffers of TCP in namespaces, also in those that come later."""

import subprocess
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from bench.hdfs.buffers import scaled, settings
from local.cloud import namespaces_available


@pytest.fixture
def prefix() -> Iterator[str]:
    if not namespaces_available():
        pytest.skip("namespaces need root, iproute2 and nftables")
    name = f"cpt{uuid4().hex[:6]}"
    yield name
    subprocess.run(("ip", "netns", "del", f"{name}-late"), check=True)


def largest(namespace: str) -> int:
    argv = ("nsenter", f"--net=/run/netns/{namespace}", "--", "sysctl", "-n", "net.ipv4.tcp_rmem")
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[2])


def test_a_namespace_that_comes_later_gets_them_too(prefix: str) -> None:
    with scaled(prefix, 300_000):
        subprocess.run(("ip", "netns", "add", f"{prefix}-late"), check=True)
        limit = time.monotonic() + 60
        while largest(f"{prefix}-late") != 300_000:
            assert time.monotonic() < limit


def test_the_first_size_is_no_larger_than_the_largest() -> None:
    assert settings(100_000) == ["net.ipv4.tcp_rmem=4096 100000 100000", "net.ipv4.tcp_wmem=4096 16384 100000"]
