"""What one transfer measured is what the next one's estimate is computed from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lambdas.adapters.codec import decode_item
from lambdas.adapters.dynamodb_profiles import ProfileItem
from lambdas.core.estimate.profile import Known, Metric, hosts
from tests.e2e.account import HOME, OTHER, Account

pytestmark = pytest.mark.alone

CAP, BYTES = 10.0, 400_000_000
BOOT_SECONDS = 8.0
"""Rates are read off whole seconds of steady paths: the direct path has some six for itself, all three some seven."""
MOST_TRANSFERS = 3


def known(account: Account, subject: str, metric: Metric) -> Known | None:
    item = account.aws.client("dynamodb").get_item(
        TableName="cpt-profiles",
        Key={"subject": {"S": subject}, "regionPair": {"S": f"{HOME}>{OTHER}"}},
        ConsistentRead=True,
    )
    return ProfileItem.from_document(decode_item(item["Item"])).profile.known(metric) if "Item" in item else None


def test_what_a_transfer_measured_is_what_the_next_estimate_starts_from(
    make_account: Callable[..., Account], tmp_path: Path
) -> None:
    """Seconds that somebody else's load disturbed teach nothing, so it may take more than one transfer."""
    account = make_account(caps={"interRegionMBps": CAP, "intraRegionMBps": 8 * CAP}, bootSeconds=BOOT_SECONDS)
    source = tmp_path / "set"
    source.mkdir()
    with (source / "zeros").open("wb") as stream:
        stream.truncate(BYTES)
    ends = hosts(account.source, account.destination)

    for attempt in range(MOST_TRANSFERS):
        run = account.run(account.request(source, tmp_path / f"to-{attempt}", relays={"pairs": 2}), f"to-{attempt}")
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        relays = run.report["nodes"][0]["instanceType"]
        between, direct = known(account, relays, "interRegion"), known(account, ends, "direct")
        spawn = known(account, relays, "spawn")
        assert spawn is not None
        # A transfer is one sample, of the four relays that it launched.
        assert (spawn.samples, spawn.measurements, spawn.origin) == (attempt + 1, 4 * (attempt + 1), "measured")
        if between and direct and between.origin == direct.origin == "measured":
            break
    else:
        pytest.fail(f"{MOST_TRANSFERS} transfers taught neither or one of the rates: {between}, {direct}")
    for rate in (between, direct):
        # The caps bound what can have been seen; how near it comes is for `make bench-estimate`.
        assert CAP / 2 < rate.value < 1.1 * CAP
    figures = estimated(account, account.request(source, tmp_path / "next", relays={"pairs": 1}))
    assert [figures[key]["origin"] for key in ("pairMBps", "directMBps", "spawnSeconds")] == ["measured"] * 3
    assert figures["pairMBps"]["value"] == pytest.approx(between.value)
    assert figures["directMBps"]["value"] == pytest.approx(direct.value)


def estimated(account: Account, request: dict[str, Any]) -> dict[str, Any]:
    payload = json.dumps({"request": request, "sizeBytes": BYTES})
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=payload)
    document: dict[str, Any] = json.loads(answer["Payload"].read())
    return document["figures"]  # type: ignore[no-any-return]
