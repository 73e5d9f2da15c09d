"""Where all paths fall for good while data moves, the decision about relays is taken again, by the event alone."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.figures import tell_figures
from local.cloud import namespaces_available
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture

pytestmark = [
    pytest.mark.paced,
    pytest.mark.skipif(not namespaces_available(), reason="only the kernel changes caps while data moves"),
    only_full,
]

END, RELAY = "t3.small", "c6in.large"
BOOT_SECONDS = 1.0
FALLS_AFTER, FACTOR = 40.0, 0.25
SIZE = 6_000_000_000
# Each path 12 MB/s, both ends 60: eight pairs fill them. At 3 MB/s a pair all carry 36 MB/s, and more pairs would help.
FALL = [{"afterSeconds": FALLS_AFTER, "factor": FACTOR}]
CAPS = {
    END: {"interRegionMBps": 12.0, "intraRegionMBps": 60.0},
    RELAY: {"interRegionMBps": 12.0, "intraRegionMBps": 200.0, "changes": FALL},
}


def test_once_all_paths_have_fallen_the_decision_is_taken_again(
    make_account: Callable[..., Account],  # noqa: F811
    tmp_path: Path,
) -> None:
    account = make_account(caps={"byType": CAPS}, bootSeconds=BOOT_SECONDS, instances="netns")
    account.configure("cpt-decide-relays", POLL_SECONDS="0.2", MAX_PAIRS="8")
    for function in ("cpt-estimate-transfer", "cpt-grow-relays"):
        account.configure(function, MAX_PAIRS="8")
    tell_figures(account.aws, f"{HOME}>{OTHER}", [RELAY], {}, BOOT_SECONDS + 2)
    source = tmp_path / "set"
    source.mkdir()
    with (source / "holes").open("wb") as stream:
        stream.truncate(SIZE)
    wish: dict[str, Any] = {"relays": {"pairs": "auto", "instanceTypes": [RELAY]}, "objective": {"minimise": "time"}}
    wish["chunkSizeMiB"] = 8  # each of nine lanes may hold one that does not count yet: 2.5 MB/s of a window of 30 s
    arn = account.start(account.request(source, tmp_path / "out", **wish), "fallen")

    def decisions() -> list[dict[str, Any]]:
        return list((account.record("fallen", "transfer") or {}).get("decisions", []))

    account.cloud.wait_for(lambda: len(decisions()) >= 2 and decisions()[-1]["pairs"] == decisions()[-1]["served"], 60)
    before = decisions()
    launched = max(float(node["requestedAt"]) for node in account.nodes("fallen"))
    account.cloud.wait_for(lambda: time.time() > launched + FALLS_AFTER + 5, 90)
    # The decision that stands is as old as it must be for another one.
    account.change_record("fallen", f"decisions.{len(before) - 1}.at", time.time() - 200)
    account.invoke("cpt-watch-relays")  # two looks, half a minute apart
    account.cloud.wait_for(lambda: len(decisions()) > len(before), 60)
    again = decisions()[len(before)]
    assert float(again["totalMBps"]) < 0.7 * float(before[-1]["totalMBps"])
    # More would help, and eight are the most that the deployment allows.
    assert (again["pairs"], again["served"]) == (8, 8)
    assert "8 pairs are the most" in again["reason"]
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert (tmp_path / "out" / "set" / "holes").stat().st_size == SIZE
    assert len(run.report["decisions"]) > len(before)
