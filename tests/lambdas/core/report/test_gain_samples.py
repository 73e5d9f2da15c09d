"""Of which kind a transfer was, and at which rate it went."""

from typing import Any

import pytest

from lambdas.core.fleet.relay_node import Node
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.report.gain_samples import gain_samples
from lambdas.core.request.bandwidth import BandwidthLimit
from tests.lambdas.builders import node, transfer


def learnt(nodes: list[Node], seconds: float = 50.0, asked: dict[str, Any] | None = None, **changes: Any) -> Any:
    record = TransferRecord(transfer=transfer(**(asked or {})), status="SUCCEEDED", fenced=True)
    found = gain_samples(record.model_copy(update=changes), 10**9, seconds, nodes)
    return [(one.subject, one.metric, one.value) for one in found]


def joined(provider: str, slot: int = 1) -> Node:
    return node(0, slot, provider=provider, joined_at=1005.0)


@pytest.mark.parametrize(
    ("nodes", "metric"),
    [
        ([], "rateDirect"),
        ([node(0, 1, provider="pool")], "rateDirect"),
        ([joined("launched")], "rateLaunched"),
        ([joined("pool")], "ratePooled"),
    ],
)
def test_each_kind_teaches_its_own_rate(nodes: list[Node], metric: str) -> None:
    assert learnt(nodes) == [("transfers", metric, pytest.approx(20.0))]


def test_mixed_relays_and_machines_of_the_user_teach_nothing() -> None:
    assert learnt([joined("pool"), joined("launched", 2)]) == []
    assert learnt([joined("lent")]) == []


def test_what_was_held_back_or_short_or_failed_teaches_nothing() -> None:
    assert learnt([], seconds=9.0) == []
    assert learnt([], asked={"bandwidthLimitMbps": 100}) == []
    assert learnt([], bandwidth=BandwidthLimit().set_to(80)) == []
    assert learnt([], shared=True) == []
    assert learnt([], status="FAILED") == []
