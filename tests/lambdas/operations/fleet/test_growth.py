"""A transfer whose burst has ended: its direct path carried 100 MB/s when relays were decided about."""

from typing import Any

import pytest

from lambdas.core.chunks.progress import LaneProgress
from lambdas.core.record import transfer_life
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.handlers.reactions.grow_relays import grow_relays
from lambdas.handlers.reactions.watch_relays import watch_relays
from lambdas.operations import reconciliation
from lambdas.operations.fleet import growth
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import SHARED, estimate, plan, profile, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.estimate.test_first_contact import decision
from tests.lambdas.fleet import dies, spawned, states

SIZE = 100 * 10**9


def burst(rate: float) -> Cloud:
    """The direct path carries `rate` MB/s by now, and for the next minutes."""
    cloud = spawned(0)
    cloud.profiles.profiles["t3.small", transfer().region_pair] = profile(20.0, 160.0, 5.0)
    taken = decision(at=cloud.clock.now() - 300, pairs=0, direct=100.0, total=100.0, instance_type="t3.small")
    wide = estimate(8, size=SIZE).model_copy(update={"chosen_pairs": 0})
    cloud.transfers.change(
        transfer(), transfer_life.note(plan=plan(size=SIZE), estimate=wide, decisions=[taken.to_document()])
    )
    began = cloud.clock.now() - 300

    def report() -> None:
        sent = int((cloud.clock.now() - began) * rate * 1e6)
        lane = LaneProgress(path_id="direct", lane=0, bytes=sent, rate=rate)
        said = {"at": cloud.clock.now(), "first_byte_at": began, "lanes": [lane], "bytes": sent, "moved_bytes": sent}
        cloud.agents.progresses[SHARED, "s0"] = progress(1).model_copy(update=said)

    for at in range(0, 300, 2):
        cloud.clock.at(at, report)
    cloud.clock.sleep(1)
    return cloud


def watch(cloud: Cloud) -> list[tuple[str, Any]]:
    watch_relays(BusEvent.from_document({"detail-type": "Scheduled Event", "detail": {}}), cloud.world)
    return [(kind, detail) for kind, detail in cloud.events.put_events if kind == "Rate Fell"]


def react(cloud: Cloud, source: str = "cpt.control") -> Any:
    said = {"transferId": "first", "rateMBps": 20.0, "expectedMBps": 100.0, "message": "fell"}
    body = {"schemaVersion": 1, "type": "Rate Fell", **said}
    return grow_relays(
        BusEvent.from_document({"detail-type": "Rate Fell", "source": source, "detail": body}), cloud.world
    )


@pytest.mark.parametrize(("rate", "told"), [(100.0, 0), (75.0, 0), (60.0, 1), (20.0, 1)])
def test_a_rate_that_fell_for_half_a_minute_is_told(rate: float, told: int) -> None:
    found = watch(burst(rate))
    assert len(found) == told
    if told:
        assert found[0][1]["rateMBps"] == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize(("seconds", "given_up"), [(419, False), (421, True)])
def test_relays_that_a_dead_function_has_launched_are_given_up_after_the_join_timeout(
    monkeypatch: pytest.MonkeyPatch, seconds: float, given_up: bool
) -> None:
    cloud = burst(20.0)
    with monkeypatch.context() as patch:
        patch.setattr(growth, "await_ready", dies)
        with pytest.raises(RuntimeError):
            react(cloud)
    launched = cloud.nodes.of("first")
    assert launched
    assert {node.state for node in launched} == {"SPAWNED"}
    record = cloud.transfers.get("first")
    assert record is not None
    cloud.clock.sleep(launched[0].requested_at + seconds - cloud.clock.now())
    found = reconciliation._discard_old_unused(cloud.world, record)
    assert (found > 0) is given_up
    assert (cloud.alive() == []) is given_up


@pytest.mark.parametrize(("mbps", "told"), [(400, 0), (None, 1)])
def test_a_rate_that_a_lowered_limit_holds_down_has_not_fallen(mbps: int | None, told: int) -> None:
    # 400 Mbit/s are 50 MB/s: half of what passed before.
    cloud = burst(49.0)
    lowered = BandwidthLimit().changed_to(mbps, cloud.clock.now() - 60, "timetable")
    cloud.transfers.change(transfer(), transfer_life.note(bandwidth=lowered))
    assert len(watch(cloud)) == told


def test_when_the_burst_has_ended_relays_are_launched_and_join() -> None:
    cloud = burst(20.0)
    assert react(cloud) == {"first": "grown"}
    record = cloud.transfers.get("first")
    assert record is not None
    last = record.decisions[-1]
    assert (last.served, last.direct) == (0, 20.0)
    assert last.pairs > 0
    assert set(states(cloud).values()) == {"JOINED"}
    assert len(states(cloud)) == 2 * last.pairs


def test_the_event_that_comes_twice_launches_nothing_more() -> None:
    cloud = burst(20.0)
    react(cloud)
    before = len(cloud.alive())
    assert react(cloud) == {"first": "known"}
    assert len(cloud.alive()) == before


def test_an_end_cannot_bring_it_about() -> None:
    cloud = burst(20.0)
    assert react(cloud, source="cpt.agent") == {}
    assert cloud.alive() == []


def test_a_rate_that_came_back_changes_nothing() -> None:
    cloud = burst(98.0)
    assert react(cloud) == {"first": "known"}
    assert cloud.alive() == []
