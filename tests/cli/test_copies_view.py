"""What people read of copies between two buckets."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.copies_view import sentences
from lambdas.core.watch.transfer_state import state_of

EXAMPLE = Path("contracts/examples/good/report/between-buckets.json")


def report(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXAMPLE.read_text())
    return {**found, **changes}


def test_a_report_says_what_is_proved_and_what_is_not() -> None:
    lines = sentences(report())
    assert lines[0] == "2.15 GB in 4 objects, copied by S3; verified: no"
    assert lines[1] == "1 copied by S3, not verified: no checksum of the whole object at the source"
    assert "30 requests to S3" in lines[3]


def test_a_dry_run_says_what_would_be_copied_and_for_how_much() -> None:
    request = {**report()["request"], "dryRun": True}
    lines = sentences(report(request=request))
    assert lines[:2] == [
        "dry run: nothing was copied",
        "of 5 objects that were listed, 5 objects, 2.15 GB, would be copied by S3",
    ]
    assert "$0.0431" in lines[2]


def test_reports_of_other_transfers_have_none_of_it() -> None:
    assert sentences(report(copies=None)) == []


@pytest.mark.parametrize(("is_listed", "left"), [(True, 10 / 3), (False, None)])
def test_whoever_watches_sees_what_is_done_and_the_time_left_once_all_is_listed(
    *, is_listed: bool, left: float | None
) -> None:
    copies = {"plannedBytes": 20_000_000, "isListed": is_listed}
    transfer = {"transferId": "first", "source": [], "destination": [], "copies": copies, "status": "ACTIVE"}
    progress = {"bytes": 5_000_000, "rateMBps": 1.5, "firstByteAt": 7.0, "lanes": []}
    state = state_of(
        "first",
        {
            "transfer": transfer,
            "progress#s0": {"document": json.dumps(progress)},
            "progress#s1": {"document": json.dumps(progress)},
        },
        [],
    )
    assert (state.total_bytes, state.delivered_bytes) == (20_000_000, 10_000_000)
    assert state.megabytes_per_second == 3.0
    assert state.seconds_left == (None if left is None else pytest.approx(left))
