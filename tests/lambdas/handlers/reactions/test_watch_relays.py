"""One tested pair of 20 MB/s beside a direct path of 20 MB/s, looked at twice by each call."""

from typing import Any

import pytest

from lambdas.core.chunks.progress import LaneProgress
from lambdas.core.record import transfer_life
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.reactions.watch_relays import PAUSE_SECONDS, watch_relays
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import SHARED, delivered, plan, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, path_ids, spawned, states

RATE = 20.0


def running(size: int = 10**11) -> Cloud:
    cloud = spawned(1)
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan(size=size)))
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    for node in cloud.nodes.of("first"):
        amend(cloud, node, measured_inter_region=RATE, measured_intra_region=8 * RATE)
    return cloud


def report(cloud: Cloud, **delivered: float) -> None:
    """What the sender says now: MB delivered by path."""
    lanes = [
        LaneProgress(path_id=p.replace("_", "-"), lane=0, bytes=int(mb * 1e6), rate=RATE) for p, mb in delivered.items()
    ]
    said = {"at": cloud.clock.time, "lanes": lanes, "bytes": sum(lane.bytes for lane in lanes)}
    cloud.agents.progresses[SHARED, "s0"] = progress(1).model_copy(update=said)


def run(cloud: Cloud) -> Any:
    return watch_relays(BusEvent.from_document({"detail-type": "Scheduled Event", "detail": {}}), cloud.world)


def carry(cloud: Cloud, direct: float, pair: float) -> Any:
    """Look, let the paths carry so many MB/s, look again."""
    report(cloud, direct=100.0, pair_1=100.0)
    seconds = PAUSE_SECONDS
    cloud.clock.at(seconds, lambda: report(cloud, direct=100 + seconds * direct, pair_1=100 + seconds * pair))
    return run(cloud)


def test_healthy_relays_are_left_alone() -> None:
    cloud = running()
    assert carry(cloud, RATE, RATE) == {"first": {}}
    assert cloud.events.put_events == []


def test_slow_relays_are_told_of_with_their_rates() -> None:
    cloud = running()
    assert carry(cloud, RATE, 4.0) == {"first": {"source-1-0": "slow", "destination-1-0": "slow"}}
    assert sorted(detail["nodeId"] for _, detail in cloud.events.put_events) == ["destination-1-0", "source-1-0"]
    kind, told = cloud.events.put_events[0]
    assert (kind, told["rateMBps"], told["expectedMBps"]) == ("Relay Slow", 4.0, RATE)
    assert told["message"] == "slow: 4.0 of 20.0 MB/s for 30 s"


def test_silent_relays_are_lost() -> None:
    cloud = running()
    assert carry(cloud, RATE, 0.0) == {"first": {"source-1-0": "silent", "destination-1-0": "silent"}}
    assert {kind for kind, _ in cloud.events.put_events} == {"Relay Lost"}


def test_what_is_told_replaces_the_relay() -> None:
    cloud = running()
    carry(cloud, RATE, 4.0)
    for kind, detail in list(cloud.events.put_events):
        body = {"schemaVersion": 1, "type": kind, **detail}
        replace_relay(
            BusEvent.from_document({"detail-type": kind, "source": "cpt.control", "detail": body}), cloud.world
        )
    assert sorted(states(cloud).items()) == [
        ("destination-1-0", "LOST"),
        ("destination-1-1", "JOINED"),
        ("source-1-0", "LOST"),
        ("source-1-1", "JOINED"),
    ]
    assert path_ids(cloud) == ["direct", "pair-1"]


def test_looks_outlive_the_function() -> None:
    cloud = running()
    report(cloud, direct=100.0, pair_1=100.0)
    run(cloud)  # the sender does not report again: one look
    cloud.clock.time += 15
    report(cloud, direct=1000.0, pair_1=101.0)
    assert run(cloud) == {"first": {"source-1-0": "slow", "destination-1-0": "slow"}}


def test_last_bytes_show_no_slow_relay() -> None:
    cloud = running(size=921_000_000)  # 700 and 220 MB are delivered at the second look, 1 MB is left
    assert carry(cloud, RATE, 4.0) == {"first": {}}


@pytest.mark.parametrize("ending", ["fenced", "finished", "no relays"])
def test_nothing_is_watched_where_no_relay_is_wanted(ending: str) -> None:
    cloud = Cloud() if ending == "no relays" else running()
    if ending == "fenced":
        cloud.transfers.change(transfer(), transfer_life.FENCE)
    if ending == "finished":
        cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    before = cloud.clock.time
    assert run(cloud) == {}
    assert cloud.clock.time == before  # no second look
