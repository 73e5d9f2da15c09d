"""What one transfer measured is what the next one's estimate is computed from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lambdas.adapters.codec import decode_item
from lambdas.adapters.dynamodb_profiles import ProfileItem
from lambdas.core.profile import Known, Metric, hosts
from tests.e2e.account import HOME, OTHER, Account

CAP, BYTES = 10.0, 250_000_000


def known(account: Account, subject: str, metric: Metric) -> Known:
    item = account.aws.client("dynamodb").get_item(
        TableName="cpt-profiles",
        Key={"subject": {"S": subject}, "regionPair": {"S": f"{HOME}>{OTHER}"}},
        ConsistentRead=True,
    )["Item"]
    found = ProfileItem.from_document(decode_item(item)).profile.known(metric)
    assert found is not None
    return found


def test_rates_come_within_five_percent_of_the_caps_and_the_next_estimate_has_them(
    make_account: Callable[..., Account], tmp_path: Path
) -> None:
    account = make_account(caps={"interRegionMBps": CAP, "intraRegionMBps": 8 * CAP})
    source = tmp_path / "set"
    source.mkdir()
    with (source / "zeros").open("wb") as stream:
        stream.truncate(BYTES)

    def transfer(name: str, pairs: int) -> dict[str, Any]:
        run = account.run(account.request(source, tmp_path / name, relays={"pairs": pairs}), name)
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        return run.report

    nodes = transfer("first", 2)["nodes"]
    relays, ends = nodes[0]["instanceType"], hosts(account.source, account.destination)
    between, spawn = known(account, relays, "interRegion"), known(account, relays, "spawn")
    assert between.samples == 2
    assert between.value == pytest.approx(CAP, rel=0.05)
    assert (spawn.samples, spawn.origin) == (4, "measured")
    assert spawn.value == pytest.approx(sum(n["joinedAt"] - n["requestedAt"] for n in nodes) / 4)
    assert known(account, ends, "direct").value == pytest.approx(CAP, rel=0.05)
    figures = transfer("second", 1)["estimate"]["figures"]
    assert [figures[key]["origin"] for key in ("pairMBps", "directMBps", "spawnSeconds")] == ["measured"] * 3
    assert figures["pairMBps"]["value"] == pytest.approx(between.value)
