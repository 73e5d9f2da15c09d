from dataclasses import replace
from typing import Any

import pytest

from lambdas.adapters.records import CommandResult, Instance
from lambdas.core.errors import TeardownIncomplete, WriteConflict
from lambdas.core.fleet import node_life
from lambdas.core.record import transfer_life
from lambdas.core.seats.commands import Command
from lambdas.core.seats.epochs import first_epoch
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet import membership
from lambdas.operations.fleet.relay_end import lose
from lambdas.operations.fleet.replacement import RESUME_SECONDS
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import (
    ARN,
    ENDS,
    SHARED,
    WEST,
    chunk,
    delivered,
    estimate,
    node,
    plan,
    progress,
    transfer,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin, path_ids, spawned
from tests.lambdas.machines import printed
from tests.lambdas.minute import minute
from tests.lambdas.told import CONTROL, told


def running(**changes: Any) -> Cloud:
    cloud = spawned(1, **changes)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.tokens.put("first", "token", 1)
    advance(cloud, 1)
    return cloud


def advance(cloud: Cloud, sender: int, receiver: int | None = None, failed: int = 0) -> None:
    cloud.agents.progresses[SHARED, "s0"] = progress(sender, failed=failed)
    cloud.agents.progresses[SHARED, "r0"] = progress(sender if receiver is None else receiver)


def run(cloud: Cloud) -> Any:
    return minute(cloud)


def test_heartbeat_is_sent_only_while_both_ends_advance() -> None:
    cloud = running()
    assert run(cloud)["first"]["heartbeat"]
    assert not run(cloud)["first"]["heartbeat"]
    advance(cloud, 2, receiver=1)
    assert not run(cloud)["first"]["heartbeat"]
    advance(cloud, 2)
    assert run(cloud)["first"]["heartbeat"]
    assert cloud.executions.answers == [("heartbeat", "token")] * 2


def test_transfer_that_was_deployed_over_is_failed_by_name_at_the_next_look() -> None:
    cloud = Cloud()
    old = transfer().model_copy(update={"format_version": 1})
    cloud.transfers.create(old)
    cloud.executions.statuses[old.execution_arn] = "RUNNING"
    cloud.tokens.put("first", "token", 1)
    assert run(cloud)["first"] == {"refused": True}
    (answer,) = cloud.executions.answers
    assert (answer[0], *answer[1][:2]) == ("failure", "token", "RecordOfOtherVersion")


def test_end_that_has_not_spoken_gets_no_heartbeat() -> None:
    cloud = running()
    del cloud.agents.progresses[SHARED, "r0"]
    assert not run(cloud)["first"]["heartbeat"]


def test_where_nothing_is_moved_but_measured_the_sender_alone_has_to_advance() -> None:
    cloud = spawned(1, pre_test=True, profile="measure")
    cloud.tokens.put("first", "token", 1)
    cloud.agents.progresses[SHARED, "s0"] = progress(1)
    assert run(cloud)["first"]["heartbeat"]
    assert not run(cloud)["first"]["heartbeat"]


def test_failure_whose_event_was_lost_is_retried() -> None:
    cloud = running()
    cloud.chunks.put_all(
        [chunk(0, failed_attempt=1, reason="stream-lost"), chunk(1), chunk(2, attempt=2, failed_attempt=1)]
    )
    assert run(cloud)["first"]["retried"] == 0
    advance(cloud, 2, failed=1)
    assert run(cloud)["first"]["retried"] == 1
    attempts = [found.attempt for found in cloud.chunks.read(SHARED, plan(chunks=3))]
    assert attempts == [2, 1, 2]
    assert run(cloud)["first"]["retried"] == 0


def test_failure_that_a_sender_noted_and_did_not_live_to_tell_is_retried() -> None:
    cloud = running()
    cloud.chunks.put_all([chunk(0, failed_attempt=1, reason="stream-lost"), chunk(1), chunk(2)])
    cloud.agents.progresses[SHARED, "s0"] = progress(2, start=2)
    assert run(cloud)["first"]["retried"] == 1


def lost_relays(cloud: Cloud) -> list[str]:
    return [detail["nodeId"] for kind, detail in cloud.events.put_events if kind == "Relay Lost"]


@pytest.mark.parametrize("state", ["stopping", "stopped", "shutting-down", "terminated"])
def test_relay_whose_instance_has_ended_is_told_of_until_somebody_acts(state: str) -> None:
    cloud = running()
    source = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    machine = cloud.compute[WEST].machines[source.instance_id]
    machine.instance = replace(machine.instance, state=state)
    assert run(cloud)["first"]["lost"] == 1
    assert run(cloud)["first"]["lost"] == 1
    assert lost_relays(cloud) == ["source-1-0", "source-1-0"]
    lose(cloud.world, source, "told")
    assert run(cloud)["first"]["lost"] == 0


def test_relay_that_ec2_does_not_show_yet_is_not_lost() -> None:
    cloud = running()
    source = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    del cloud.compute[WEST].machines[source.instance_id]
    cloud.clock.time = source.requested_at + 59
    assert run(cloud)["first"]["lost"] == 0
    cloud.clock.time = source.requested_at + 61
    assert run(cloud)["first"]["lost"] == 1


def test_replacement_that_stopped_half_way_is_told_of_again() -> None:
    cloud = running()
    source = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    lose(cloud.world, source, "its instance is terminated")
    assert run(cloud)["first"]["lost"] == 0  # somebody may be at work on it
    cloud.clock.time += RESUME_SECONDS + 1
    assert run(cloud)["first"]["lost"] == 1
    assert cloud.events.put_events[-1][1]["message"] == "its instance is terminated"
    lost = next(node for node in cloud.nodes.of("first") if node.state == "LOST")
    cloud.nodes.change(lost, node_life.stay_alone("nothing is left to move"))
    assert run(cloud)["first"]["lost"] == 0


def test_relay_whose_agent_is_silent_is_not_lost() -> None:
    cloud = running()
    for machine in cloud.compute[WEST].machines.values():
        machine.agent = False
    cloud.clock.time += 600
    assert run(cloud)["first"]["lost"] == 0
    assert path_ids(cloud) == ["direct", "pair-1"]


def test_outcome_whose_release_was_lost_is_released() -> None:
    cloud = running()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert run(cloud) == {"first": {"released": True}}
    assert cloud.executions.answers == [("success", ("token", delivered().to_document()))]


def test_transfer_that_is_being_torn_down_is_left_alone() -> None:
    cloud = running()
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    assert run(cloud) == {"first": {"waiting": "its states are at work"}}


def test_transfer_whose_teardown_failed_is_taken_down_again() -> None:
    cloud = running()
    cloud.executions.statuses[ARN] = "FAILED"
    cloud.compute[WEST].immortal = True
    with pytest.raises(TeardownIncomplete):
        run(cloud)
    assert cloud.transfers.active() != []
    cloud.compute[WEST].immortal = False
    assert run(cloud)["first"]["swept"] == "FAILED"
    assert (cloud.alive(), cloud.transfers.active()) == ([], [])


def test_transfer_without_a_running_execution_is_swept() -> None:
    cloud = running()
    cloud.executions.statuses[ARN] = "ABORTED"
    assert run(cloud)["first"]["swept"] == "ABORTED"
    assert cloud.alive() == []
    assert cloud.transfers.active() == []
    assert "transfers/first/report.json" in cloud.objects.objects


def test_running_transfers_are_counted_each_minute() -> None:
    cloud = running()
    run(cloud)
    assert cloud.metrics.sums["TransfersActive"] == 1


def test_no_active_transfer_needs_no_work() -> None:
    assert run(Cloud()) == {}


def test_relay_of_a_transfer_that_is_over_is_terminated() -> None:
    cloud = running()
    cloud.transfers.change(transfer(), transfer_life.close("SUCCEEDED"))
    assert run(cloud) == {}
    assert cloud.alive() == []
    assert cloud.metrics.sums["RelaysStray"] == 2


def test_relays_of_a_transfer_that_begins_meanwhile_are_left_alone() -> None:
    cloud = Cloud()
    listed = cloud.compute[WEST].of_deployment

    def begun() -> list[Instance]:
        found = listed()
        begin(cloud, transfer())
        spawn_relays(SpawnInput(transfer=transfer(), estimate=estimate(1)), cloud.world)
        return found

    cloud.compute[WEST].of_deployment = begun  # type: ignore[method-assign]
    run(cloud)
    assert len(cloud.alive()) == 2


def test_execution_that_is_not_known_yet_is_waited_for() -> None:
    cloud = running()
    cloud.executions.statuses[ARN] = None
    cloud.clock.time = 1119.0
    assert run(cloud)["first"]["waiting"] == "its execution is not known yet"
    assert len(cloud.alive()) == 2
    cloud.clock.time = 1121.0
    assert run(cloud)["first"]["swept"] is None
    assert cloud.alive() == []


def test_heartbeat_does_not_wait_for_the_sweep_of_another_transfer() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer("before", f"{ARN}-before"))
    cloud.executions.statuses[f"{ARN}-before"] = "ABORTED"
    begin(cloud, transfer())
    cloud.tokens.put("first", "token", 1)
    advance(cloud, 1)
    swept_after: list[Any] = []

    def stop(_: Command | None) -> CommandResult:
        swept_after.extend(cloud.executions.answers)
        return printed({"stopped": "before"})

    cloud.commands[WEST].scripts["stop"] = stop
    assert run(cloud)["before"]["swept"] == "ABORTED"
    assert swept_after == [("heartbeat", "token")]


def test_relays_that_a_dead_state_left_unused_are_discarded() -> None:
    cloud = spawned(1)
    cloud.tokens.put("first", "token", 1)
    advance(cloud, 1)
    cloud.clock.time += 1199
    assert run(cloud)["first"]["unused"] == 0
    cloud.clock.time += 2
    assert run(cloud)["first"]["unused"] == 2
    assert cloud.alive() == []


def test_partner_that_was_released_is_nobodys_loss() -> None:
    cloud = running()
    cloud.compute[WEST].quota = 0
    lost = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    event = {"schemaVersion": 1, "type": "Relay Lost", "transferId": "first", "nodeId": lost.node_id, "message": "gone"}
    replace_relay(
        BusEvent.from_document({"detail-type": "Relay Lost", "source": CONTROL, "detail": event}), cloud.world
    )
    assert cloud.alive() == []
    cloud.clock.time += RESUME_SECONDS + 1
    cloud.events.put_events.clear()
    assert run(cloud)["first"]["lost"] == 0
    assert cloud.events.put_events == []


def test_instance_of_a_relay_that_ended_is_terminated_though_whoever_ended_it_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = running()
    lost = next(node for node in cloud.nodes.of("first") if node.stage == 0)

    def die(*_: object) -> None:
        raise WriteConflict("again")

    with monkeypatch.context() as patched:
        patched.setattr(membership, "settle", die)
        with pytest.raises(WriteConflict):
            lose(cloud.world, lost, "gone")
    assert lost.instance_id in cloud.alive()
    assert run(cloud)["first"]["outlived"] == 1
    assert lost.instance_id not in cloud.alive()
    assert run(cloud)["first"]["outlived"] == 0


def test_relay_that_drains_long_after_its_successor_joined_is_told_of() -> None:
    cloud = running()
    old = next(node for node in cloud.nodes.of("first") if node.stage == 0)
    now = cloud.clock.now()
    cloud.nodes.put(node("source", 1, 1, "JOINED", instance_id=old.instance_id, joined_at=now, requested_at=now))
    cloud.nodes.change(old, node_life.drain("slow"))
    cloud.nodes.change(old, node_life.succeed("source-1-1"))
    assert run(cloud)["first"]["lost"] == 0
    cloud.clock.time += RESUME_SECONDS + 1
    assert run(cloud)["first"]["lost"] == 1
    assert ("Relay Lost", {**old.about, "message": "slow"}) in cloud.events.put_events


def test_what_a_state_left_that_ended_after_the_sweep_is_taken_down_and_the_report_stays() -> None:
    cloud = running()
    cloud.executions.statuses[ARN] = "ABORTED"
    run(cloud)
    written = cloud.objects.objects["transfers/first/report.json"]
    cloud.objects.put(f"{ENDS}announced/late.json", b"late")
    cloud.transfers.change(transfer(), transfer_life.REOPEN)
    assert run(cloud)["first"]["swept"] == "ABORTED"
    assert cloud.objects.objects["transfers/first/report.json"] == written
    assert not cloud.objects.keys(f"{ENDS}announced/")
    assert cloud.transfers.active() == []


def test_outcome_whose_event_was_lost_ends_the_transfer() -> None:
    cloud = running()
    body = {"schemaVersion": 1, "type": "Transfer Delivered", "transferId": "first", "epoch": first_epoch(1)}
    counts = {"bytes": 10, "files": 2, "chunks": 1, "sentBytes": 12}
    told(cloud, BusEvent.from_document({"detail-type": "Transfer Delivered", "detail": body | counts}))
    assert run(cloud)["first"]["released"]
    delivered_by = {"delivered": {**counts, "epoch": first_epoch(1)}}
    assert cloud.executions.answers == [("heartbeat", "token"), ("success", ("token", delivered_by))]


def test_relay_that_the_sender_lost_is_told_of_again_when_the_event_was_lost() -> None:
    cloud = running()
    lost = {"pathId": "pair-1", "nodeId": "source-1-0", "message": "connection reset"}
    body = {"schemaVersion": 1, "type": "Relay Lost", "transferId": "first", **lost}
    told(cloud, BusEvent.from_document({"detail-type": "Relay Lost", "detail": body}))
    assert run(cloud)["first"]["lost"] == 1
    relay = next(node for node in cloud.nodes.of("first") if node.node_id == "source-1-0")
    assert cloud.events.put_events == [("Relay Lost", {**relay.about, "message": "connection reset"})]
