"""EventBridge delivers at least once, late and in any order: each type of event thrice, too late, and out of order."""

from collections.abc import Callable
from copy import deepcopy
from itertools import permutations
from typing import Any

import pytest

from lambdas.core.seats.epochs import first_epoch
from lambdas.handlers.reactions.finish_transfer import finish_transfer
from lambdas.handlers.reactions.reconcile import reconcile
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.reactions.restart_end import restart_end
from lambdas.handlers.reactions.retry_chunk import retry_chunk
from lambdas.handlers.reactions.sweep_execution import sweep_execution
from lambdas.handlers.reactions.tell_machine_ends import SPOT_WARNING
from lambdas.handlers.reactions.watch_ends import watch_ends
from lambdas.handlers.reactions.watch_relays import watch_relays
from lambdas.handlers.reactions.watch_transfers import watch_transfers
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.runtime.handler import STATE_CHANGE, BusEvent
from tests.lambdas.builders import ARN, SHARED, SOURCE_ID, chunk, plan, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned, states
from tests.lambdas.machine_ends import hear, of_ec2, stopping
from tests.lambdas.told import CONTROL
from tests.lambdas.told import told as noted

Run = Callable[[BusEvent, Any], Any]
TIMES = 3


def event(kind: str, **detail: Any) -> BusEvent:
    body = {"schemaVersion": 1, "type": kind, "transferId": "first", **detail}
    return BusEvent.from_document({"detail-type": kind, "source": CONTROL, "detail": body})


def of_relay(kind: str, cloud: Cloud, **detail: str) -> BusEvent:
    instance = next(node.instance_id for node in cloud.nodes.of("first") if node.node_id == "source-1-0")
    return of_ec2(kind, instance, **detail)


def running() -> Cloud:
    """One pair carries data; one chunk has failed, and its event is on its way."""
    cloud = spawned(1)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.tokens.put("first", "token", 1)
    cloud.chunks.put_all([chunk(0, failed_attempt=1, reason="stream-lost"), chunk(1)])
    for seat_id in ("s0", "r0"):
        cloud.agents.progresses[SHARED, seat_id] = progress(3, rate=40.0)
    return cloud


CHUNK = {"chunk": 0, "attempt": 1, "pathId": "pair-1", "reason": "stream-lost", "message": "the lane broke"}
LOST = {"pathId": "pair-1", "nodeId": "source-1-0", "message": "connection reset"}
SLOW = {"nodeId": "source-1-0", "rateMBps": 4.0, "expectedMBps": 40.0, "message": "slow"}
DELIVERED = {"epoch": first_epoch(1), "bytes": 10, "files": 2, "chunks": 2, "sentBytes": 12}
FAILED = {"epoch": first_epoch(1), "side": "sender", "seat": "s0", "error": "ChunksFailed", "cause": "chunk 0"}
STOPPED = {"executionArn": ARN, "status": "ABORTED"}
TERMINATED = {"state": "terminated"}

EVENTS: dict[str, tuple[Run, Callable[[Cloud], BusEvent]]] = {
    "Chunk Failed": (retry_chunk, lambda cloud: noted(cloud, event("Chunk Failed", **CHUNK))),
    "Relay Lost": (replace_relay, lambda cloud: noted(cloud, event("Relay Lost", **LOST))),
    "Relay Slow": (replace_relay, lambda _: event("Relay Slow", **SLOW)),
    "instance terminated": (hear, lambda cloud: of_relay(STATE_CHANGE, cloud, **TERMINATED)),
    "spot warning": (hear, lambda cloud: of_relay(SPOT_WARNING, cloud)),
    "Transfer Delivered": (finish_transfer, lambda cloud: noted(cloud, event("Transfer Delivered", **DELIVERED))),
    "Transfer Failed": (finish_transfer, lambda cloud: noted(cloud, event("Transfer Failed", **FAILED))),
    "execution stopped": (sweep_execution, lambda _: event("Step Functions Execution Status Change", **STOPPED)),
    "Look Due": (reconcile, lambda _: event("Look Due")),
    "End Silent": (restart_end, lambda _: event("End Silent", seat="s0", start=1)),
    "Execution Over": (sweep_execution, lambda _: event("Execution Over", executionArn=ARN)),
    "an end's machine stops": (hear, lambda _: stopping(SOURCE_ID)),
    "watch_ends' schedule": (watch_ends, lambda _: BusEvent()),
    "watch_transfers' schedule": (watch_transfers, lambda _: BusEvent()),
    "watch_relays' schedule": (watch_relays, lambda _: BusEvent()),
}


def kept(cloud: Cloud) -> dict[str, Any]:
    """All that lasts: tables, objects, events told, machines, rules, commands sent. Not the times of looks."""
    record = cloud.transfers.get("first")
    machines = [machine for compute in cloud.compute.values() for machine in compute.machines.values()]
    return deepcopy(
        {
            "record": record and (record.status, record.fenced, record.outcome, record.teardown),
            "active": [found.transfer.transfer_id for found in cloud.transfers.active()],
            "membership": cloud.agents.membership(SHARED),
            "chunks": list(cloud.chunks.read(SHARED, plan(chunks=9))),
            "nodes": cloud.nodes.of("first"),
            "token": bool(cloud.tokens.get("first")),
            "objects": sorted(cloud.objects.objects),
            # Each minute another look is due.
            "told": [event for event in cloud.events.put_events if event[0] != "Look Due"],
            "machines": [(machine.instance.instance_id, machine.instance.gone) for machine in machines],
            "rules": [rule for groups in cloud.groups.values() for rule in groups.admitted],
            "commands": [command for commands in cloud.commands.values() for command in commands.sent],
        }
    )


ONCE_AND_AGAIN = [(kind, 0.0) for kind in EVENTS] + [(kind, 3600.0) for kind in EVENTS if "schedule" not in kind]


@pytest.mark.parametrize(("kind", "later"), ONCE_AND_AGAIN)
def test_thrice_at_once_or_an_hour_apart_is_as_good_as_once(kind: str, later: float) -> None:
    run, make = EVENTS[kind]
    cloud = running()
    told = make(cloud)
    run(told, cloud.world)
    once = kept(cloud)
    for _ in range(TIMES):
        cloud.clock.time += later
        run(told, cloud.world)
    assert kept(cloud) == once


@pytest.mark.parametrize("kind", EVENTS)
def test_after_the_end_it_changes_nothing(kind: str) -> None:
    run, make = EVENTS[kind]
    cloud = running()
    told = make(cloud)
    finish_transfer(noted(cloud, event("Transfer Delivered", **DELIVERED)), cloud.world)
    sweep_execution(event("Step Functions Execution Status Change", **STOPPED), cloud.world)
    end = kept(cloud)
    assert (cloud.alive(), end["active"]) == ([], [])
    for _ in range(TIMES):
        run(told, cloud.world)
    # The item of a failed chunk moves on to an attempt that nobody makes.
    assert {**kept(cloud), "chunks": []} == {**end, "chunks": []}


@pytest.mark.parametrize("order", list(permutations(["Relay Lost", "instance terminated", "spot warning"])))
def test_a_relays_end_told_in_any_order_is_one_loss(order: tuple[str, ...]) -> None:
    cloud = running()
    told = {kind: EVENTS[kind][1](cloud) for kind in order}
    for kind in order * TIMES:
        EVENTS[kind][0](told[kind], cloud.world)
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert [kind for kind, _ in cloud.events.put_events] == ["Relay Replaced"]
    assert len(cloud.alive()) == 2


@pytest.mark.parametrize("order", sorted(set(permutations([1, 1, 1, 2, 2, 2]))))
def test_failures_of_one_chunk_in_any_order_count_one_attempt_each(order: tuple[int, ...]) -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.chunks.put_all([chunk(0)])
    for attempt in (1, *order, 2):
        retry_chunk(noted(cloud, event("Chunk Failed", **{**CHUNK, "attempt": attempt})), cloud.world)
    found = cloud.chunks.get(SHARED, 0)
    assert found is not None
    assert (found.state, found.attempt) == ("PENDING", 3)


@pytest.mark.parametrize("order", list(permutations(["Transfer Delivered", "Transfer Failed"])))
def test_of_two_outcomes_the_first_counts(order: tuple[str, str]) -> None:
    cloud = running()
    for kind in order * TIMES:
        EVENTS[kind][0](EVENTS[kind][1](cloud), cloud.world)
    wanted = "success" if order[0] == "Transfer Delivered" else "failure"
    assert {kind for kind, _ in cloud.executions.answers} == {wanted}
