"""Buffers of TCP that are scaled as the network is.

A lane keeps up to 30 MB in the buffers of a relay and of both its neighbours. At the rates of a real VM that is a
fraction of a second of its time; at the rates here it would be several seconds, in which a transfer ends.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from local.state import namespaces

LARGEST_BYTES = 256 << 10
LOOK_SECONDS = 0.1


@contextmanager
def scaled(prefix: str, largest_bytes: int = LARGEST_BYTES) -> Iterator[None]:
    """While it holds, sockets in all namespaces with this prefix get no more than that, also in those to come."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(prefix, largest_bytes, over), name="buffers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def settings(largest_bytes: int) -> list[str]:
    """Arguments of `sysctl`: the least and the first size of a buffer are Linux's own."""
    return [
        f"net.ipv4.tcp_rmem=4096 {min(131_072, largest_bytes)} {largest_bytes}",
        f"net.ipv4.tcp_wmem=4096 {min(16_384, largest_bytes)} {largest_bytes}",
    ]


def _watch(prefix: str, largest_bytes: int, over: threading.Event) -> None:
    done: set[str] = set()
    while True:
        for name in set(namespaces(prefix)) - done:
            argv = ["nsenter", f"--net=/run/netns/{name}", "--", "sysctl", "--quiet", "-w", *settings(largest_bytes)]
            # A relay may be gone again by now.
            if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
                done.add(name)
        if over.wait(LOOK_SECONDS):
            return
