"""The network between two machines is cut: nothing passes either way, and neither hears why."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.data_plane.network import Network, Node, command, network
from local.cloud import namespaces_available
from tests.chaos.extent import cases, only_full
from tests.chaos.transfer import ENDS, PARTIAL, under_way

pytestmark = pytest.mark.skipif(not namespaces_available(), reason="needs root, iproute2 and nftables")

HOSTS = {"sender": "10.0.0.1", "receiver": "10.0.0.2", "near": "10.0.0.3", "far": "10.0.0.4"}
CABLES = [("sender", "receiver"), ("sender", "near"), ("near", "far"), ("far", "receiver")]
"""All that data goes along."""
FOR_EVER = None
MOMENT = 0.3
"""Share of the chunks that have arrived."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Network]:
    with network(HOSTS) as net:
        yield net


@contextmanager
def cut(one: Node, *others: Node) -> Iterator[None]:
    """Drop what these machines send each other."""
    addresses = ", ".join(other.address for other in others)
    rules = f"""
        table ip cut {{
            chain out {{ type filter hook output priority 0; ip daddr {{ {addresses} }} drop; }}
            chain in {{ type filter hook input priority 0; ip saddr {{ {addresses} }} drop; }}
        }}"""
    command(*one.prefix, "nft", "-f", "-", text=rules)
    try:
        yield
    finally:
        command(*one.prefix, "nft", "delete", "table", "ip", "cut")


@pytest.mark.parametrize("seconds", cases([1, 30, FOR_EVER], [1]), ids=lambda seconds: f"{seconds or 'for ever'}")
@pytest.mark.parametrize("cable", cases(CABLES, [CABLES[0], CABLES[2]]), ids="-".join)
def test_cut_for_some_seconds(
    tmp_path: Path, source: Path, hosts: Network, cable: tuple[str, str], seconds: int | None
) -> None:
    with under_way(tmp_path, source, hosts.nodes) as transfer:
        assert transfer.wait_until_delivered(int(transfer.table.chunks * MOMENT))
        with cut(hosts[cable[0]], hosts[cable[1]]):
            transfer.done.append(f"{cable} cut")
            if seconds is FOR_EVER:
                transfer.check_arrived()
            else:
                time.sleep(seconds)
        transfer.check_arrived()


@only_full
@pytest.mark.parametrize("end", ENDS)
def test_end_that_nobody_reaches_any_more_stops_when_told(
    tmp_path: Path, source: Path, hosts: Network, end: str
) -> None:
    with under_way(tmp_path, source, hosts.nodes) as transfer:
        assert transfer.wait_until_delivered(int(transfer.table.chunks * MOMENT))
        with cut(hosts[end], *(node for role, node in hosts.nodes.items() if role != end)):
            assert transfer.fence() == [3, 3]
        transfer.check_nothing_half()
        left = {path.name for path in transfer.destination.iterdir()} - {path.name for path in source.iterdir()}
        assert left == {f"{PARTIAL}local"}  # for the next attempt
