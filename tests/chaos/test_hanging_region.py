"""EC2 of one region hangs for five minutes during eight transfers: all arrive, and those with relays keep them."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path

import pytest

from tests.chaos import account as chaos
from tests.chaos.extent import only_full
from tests.e2e.account import OTHER, Account, Run
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import paths_with_data

log = logging.getLogger(__name__)

HANGS_SECONDS = 300
# Longer than a client waits for an answer.
LATE_SECONDS = 65.0
MANY = 100_000
# 340 s at this rate: longer than EC2 hangs, and longer than an end may go without a heartbeat.
LIMIT_MBPS, LARGE = 4, 170_000_000
JOINED, STARTING, BEGUN = 4, 2, 2
JOINED_LATER_SECONDS = 30.0
READY_SECONDS = 240.0
OVER_SECONDS = 1_200.0
SETTINGS = {"scheduleMinuteSeconds": 20.0, "bootSeconds": 8.0}


@dataclass
class Arrival:
    """One transfer: seconds from when EC2 began to hang until all of its data was there, and how it ended."""

    seconds: float
    run: Run


def begin(account: Account, source: Path, work: Path, name: str, limit: int | None = LIMIT_MBPS) -> str:
    slow = {"chunkSizeMiB": 1, **({"bandwidthLimitMbps": limit} if limit else {})}
    return account.start(account.request(f"{source}/", work / name, relays={"pairs": 1}, **slow), name)


def arrived_at(account: Account, arn: str) -> float:
    """When data was over: then its relays are released, which asks EC2. Infinite where it never was."""
    times = (
        float(event["timestamp"].timestamp())
        for event in account.events(arn)
        if event.get("stateEnteredEventDetails", {}).get("name") == "Release Relays"
    )
    return next(times, inf)


def eight(account: Account, source: Path, work: Path, *, hangs: bool) -> dict[str, Arrival]:
    """Four whose relays have joined, two whose relays are on their way, and two that begin only then."""
    names = [f"joined-{n}" for n in range(JOINED)]
    arns = {name: begin(account, source, work, name) for name in names}
    for name in names:
        account.cloud.wait_for(partial(_carries, account, name), READY_SECONDS)
    starting = [f"starting-{n}" for n in range(STARTING)]
    arns |= {name: begin(account, source, work, name) for name in starting}
    for name in starting:
        account.cloud.wait_for(partial(account.nodes, name), READY_SECONDS)
    began = account.cloud.wait_for(lambda: max(node["requestedAt"] for n in starting for node in account.nodes(n)), 1)
    if hangs:
        hang = {"delaySeconds": LATE_SECONDS, "duringSeconds": HANGS_SECONDS}
        chaos.spoil(account, "*", MANY, regions=[OTHER], **hang)
    begun = [f"begun-{n}" for n in range(BEGUN)]
    arns |= {name: begin(account, source, work, name, None) for name in begun}
    runs = {name: account.wait(arn, OVER_SECONDS) for name, arn in arns.items()}
    return {name: Arrival(arrived_at(account, arns[name]) - float(began), run) for name, run in runs.items()}


def _carries(account: Account, name: str) -> bool:
    return "pair-1" in paths_with_data(account, name)


@only_full
@pytest.mark.timeout(2_400)
def test_all_arrive_and_those_with_relays_no_later_than_without_the_hang(
    make_account: Callable[..., Account],  # noqa: F811
    tmp_path: Path,
) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    usual, hanging = make_account(**SETTINGS), make_account(**SETTINGS)
    with ThreadPoolExecutor(2) as both:  # under the same load of this machine
        without = both.submit(eight, usual, source, tmp_path / "usual", hangs=False)
        during = both.submit(eight, hanging, source, tmp_path / "hanging", hangs=True)
    expected, found = without.result(), during.result()
    for name, arrival in found.items():
        served = sum("joinedAt" in node for node in hanging.nodes(name))
        said = [arrival.run.error, (arrival.run.report.get("fleet") or {}).get("notes")]
        log.warning(
            "%s: %.1f s, without the hang %.1f s; %d relays served; %s",
            name,
            arrival.seconds,
            expected[name].seconds,
            served,
            said,
        )
    assert {name: (one.run.status, one.run.error) for name, one in found.items()} == dict.fromkeys(
        found, ("SUCCEEDED", None)
    )
    for name in found:
        assert tree(tmp_path / "hanging" / name) == tree(source)
    for name in (name for name in found if name.startswith("joined")):
        assert found[name].seconds <= expected[name].seconds + JOINED_LATER_SECONDS
        assert found[name].run.report["replacements"] == []
    for name in (name for name in found if name.startswith("starting")):
        assert not any("joinedAt" in node for node in hanging.nodes(name))  # all went directly
        notes = found[name].run.report["fleet"]["notes"]
        assert any(note.startswith(f"in {OTHER} ") for note in notes), "the report says so"
    for name in found:
        chaos.check_nothing_left(hanging, name)
