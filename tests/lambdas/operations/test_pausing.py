"""What a pause costs: relays go back at once, nobody launches any while it lasts, and they come again once."""

from typing import Any

import pytest

from lambdas.core.errors import LaunchRefused
from lambdas.core.fleet.answer import Answer
from lambdas.core.record import transfer_life
from lambdas.core.record.pause import Pause
from lambdas.core.record.transfer_record import Estimated
from lambdas.handlers.calls.pause_transfer import PauseRequest, pause_transfer
from lambdas.handlers.calls.unpause_transfer import unpause_transfer
from lambdas.operations import pausing
from lambdas.operations.fence import running
from lambdas.operations.fleet.growth import launch_routes
from tests.lambdas.builders import SHARED, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned, states

FIRST = PauseRequest(transfer_id="first")
LIVE = {"SPAWNED", "READY", "JOINED"}


def record(cloud: Cloud) -> Estimated:
    found = cloud.transfers.get("first")
    assert isinstance(found, Estimated)
    return found


def live(cloud: Cloud) -> list[str]:
    return [node_id for node_id, state in states(cloud).items() if state in LIVE]


def paused(pairs: int = 2, **changes: Any) -> Cloud:
    cloud = spawned(pairs, **changes)
    pause_transfer(FIRST, cloud.world)
    assert pausing.settle(cloud.world, record(cloud)) == "paused"
    return cloud


def test_a_look_gives_all_relays_back_and_those_that_come_late_too() -> None:
    cloud = paused()
    assert (live(cloud), cloud.alive()) == ([], [])
    assert pausing.settle(cloud.world, record(cloud)) == "paused", "a later look finds nothing more to do"


def test_nobody_launches_while_it_is_paused() -> None:
    cloud = paused()
    assert running(cloud.world, "first") is None
    with pytest.raises(LaunchRefused, match="the transfer is paused"):
        launch_routes(cloud.world, record(cloud), record(cloud).estimate, 2, since=cloud.clock.now())
    assert pausing.launch_again(cloud.world, "first") is Answer.OVER
    assert live(cloud) == []


def test_once_it_goes_on_its_relays_are_launched_once() -> None:
    cloud = paused()
    before = set(states(cloud))
    cloud.clock.sleep(600)
    unpause_transfer(FIRST, cloud.world)
    assert pausing.settle(cloud.world, record(cloud)) == "owed", "an event that was lost is put again"
    assert pausing.launch_again(cloud.world, "first") is Answer.GROWN
    new = set(states(cloud)) - before
    assert len(new) == 4
    assert pausing.launch_again(cloud.world, "first") is Answer.KNOWN
    assert set(states(cloud)) - before == new
    assert pausing.settle(cloud.world, record(cloud)) is None


def test_a_state_that_launches_relays_is_not_joined_in_it() -> None:
    cloud = paused()
    unpause_transfer(FIRST, cloud.world)
    cloud.transfers.change(transfer(), transfer_life.note_stage("Await Relays", {"enteredAt": 1.0}))
    assert pausing.launch_again(cloud.world, "first") is Answer.KNOWN
    assert record(cloud).pause.owed  # type: ignore[union-attr]


def test_relays_that_would_come_too_late_are_not_launched() -> None:
    cloud = paused()
    unpause_transfer(FIRST, cloud.world)
    cloud.agents.progresses[(SHARED, "s0")] = progress(1).model_copy(update={"bytes": record(cloud).plan.bytes - 1000})
    assert pausing.launch_again(cloud.world, "first") is Answer.KEPT
    assert live(cloud) == []


def test_one_that_is_paused_again_before_they_are_launched_gets_none() -> None:
    cloud = paused()
    unpause_transfer(FIRST, cloud.world)
    pause_transfer(FIRST, cloud.world)
    assert pausing.launch_again(cloud.world, "first") is Answer.OVER
    assert live(cloud) == []


def test_one_that_was_cancelled_while_paused_is_owed_nothing() -> None:
    cloud = paused()
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    assert pausing.settle(cloud.world, record(cloud)) is None
    assert pausing.launch_again(cloud.world, "first") is Answer.OVER


def test_a_look_tells_senders_that_whoever_paused_it_did_not() -> None:
    cloud = spawned(1)
    cloud.transfers.change(transfer(), transfer_life.note(pause=Pause().begun(1.0)))
    pausing.settle(cloud.world, record(cloud))
    followed = cloud.agents.membership(SHARED)
    assert followed is not None
    assert followed.paused
