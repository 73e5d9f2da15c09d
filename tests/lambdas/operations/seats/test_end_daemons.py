"""An end that dies, falls silent or never comes back, as the reconciler's minute finds it."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.commands import Share
from lambdas.core.seats.epochs import first_epoch, start_of
from lambdas.core.seats.liveness import MOST_RESTARTS
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.reactions.finish_transfer import finish_transfer
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SHARED, WEST, delivered, progress, request, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import attempt, spawned
from tests.lambdas.machine_ends import hear, stopping
from tests.lambdas.machines import failed
from tests.lambdas.minute import minute
from tests.lambdas.told import told as noted

PLACES: dict[str, tuple[str, str]] = {"s0": (WEST, "send"), "r0": (IRELAND, "receive")}


class Moving:
    """A transfer whose ends report while they live."""

    def __init__(self, **changes: Any) -> None:
        self.cloud = spawned(1, **changes)
        self.cloud.tokens.put("first", "token", attempt(self.cloud))
        self.alive: dict[str, int] = {"s0": 1, "r0": 1}
        self.sequence = 0
        self.hangs: float | None = None
        """Seconds since when the receiver's file system keeps it; it then reports and does not advance."""

    def minute(self) -> Any:
        self.cloud.clock.time += 60
        self.sequence += 1
        for side, start in self.alive.items():
            told = progress(self.sequence, start=start, sent=1000).model_copy(update={"at": self.cloud.clock.time})
            if side == "r0" and self.hangs is not None:
                told = told.model_copy(update={"sequence": 1, "in_file_system_seconds": self.hangs})
            self.cloud.agents.progresses[SHARED, side] = told
        return minute(self.cloud)["first"]

    def sent(self, side: str) -> list[int]:
        """The starts of an end that were ordered."""
        region, document = PLACES[side]
        orders = self.cloud.commands[region].sent
        return [start_of(command["epoch"]) for name, _, command in orders if name == document and command]


@pytest.mark.parametrize("side", PLACES)
def test_each_end_is_started_with_the_weights_of_its_machine_each_time(side: str) -> None:
    document = request()
    document["source"] |= {"cpuWeight": 20, "ioWeight": 1}
    document["destination"] |= {"ioWeight": 200}
    moving = Moving(source=document["source"], destination=document["destination"])
    moving.minute()
    del moving.alive[side]
    moving.minute()
    region, started = PLACES[side]
    share = Share(cpu_weight=20, io_weight=1) if side == "s0" else Share(io_weight=200)
    assert [share for (name, _), share in moving.cloud.commands[region].shares.items() if name == started] == [share]


@pytest.mark.parametrize(("side", "other"), [("s0", "r0"), ("r0", "s0")])
def test_end_that_died_is_started_again_in_a_new_start_and_the_other_is_left_alone(side: str, other: str) -> None:
    moving = Moving()
    assert moving.minute()["heartbeat"]
    del moving.alive[side]
    assert moving.minute() == {
        "retried": 0,
        "lost": 0,
        "outlived": 0,
        "unused": 0,
        "limit": None,
        "silent": side,
        "restarted": side,
        "heartbeat": True,
    }
    assert (moving.sent(side), moving.sent(other)) == ([2], [])
    assert not moving.minute()["heartbeat"]  # its report is still the old one's
    moving.alive[side] = 2
    assert moving.minute()["heartbeat"]
    assert moving.sent(side) == [2]


def test_end_that_never_comes_back_is_given_up_with_what_stood_in_the_way() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["r0"]
    moving.cloud.commands[IRELAND].scripts["receive"] = lambda _: failed("cpt: no space left on device")
    found = [moving.minute() for _ in range(12)]
    assert moving.sent("r0") == [2, 3, 4]
    assert sum("restarted" in each for each in found) == MOST_RESTARTS
    assert {"gaveUp": "r0", "released": True}.items() <= next(each for each in found if "gaveUp" in each).items()
    kind, (token, error, cause) = moving.cloud.executions.answers[-1]
    assert (kind, token, error) == ("failure", "token", "EndSilent")
    assert "the receiver on i-0bbbbbbbbbbbbbbb2 (eu-west-1) is silent; it was started again 3 times" in cause
    assert "no space left on device" in cause
    assert moving.sent("s0") == []


@pytest.mark.parametrize("state", ["stopping", "stopped", "shutting-down", "terminated"])
def test_end_whose_machine_is_gone_is_not_started_again(state: str) -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["r0"]
    machine = moving.cloud.compute[IRELAND].machines[DESTINATION_ID]
    machine.instance = replace(machine.instance, state=state)
    found = moving.minute()
    assert {"gaveUp": "r0", "released": True}.items() <= found.items()
    assert moving.sent("r0") == []
    _, (_, error, cause) = moving.cloud.executions.answers[-1]
    assert error == "EndGone"
    assert cause == f"the machine of the receiver, {DESTINATION_ID} (eu-west-1), is {state}"


@pytest.mark.parametrize(("state", "ended"), [("shutting-down", True), ("running", False)])
def test_machine_that_ec2_tells_of_ends_the_transfer_at_once_if_ec2_says_so_when_asked(state: str, ended: bool) -> None:
    moving = Moving()
    machine = moving.cloud.compute[IRELAND].machines[DESTINATION_ID]
    machine.instance = replace(machine.instance, state=state)
    assert hear(stopping(DESTINATION_ID), moving.cloud.world) == {"ended": ended}
    assert [answer[1][1] for answer in moving.cloud.executions.answers] == (["EndGone"] if ended else [])


def test_machine_of_nobodys_end_ends_no_transfer() -> None:
    moving = Moving()
    assert hear(stopping("i-0999999999999999f"), moving.cloud.world) == {}
    assert moving.cloud.executions.answers == []


def test_hung_file_system_is_named_on_the_receivers_machine_and_the_sender_is_left_alone() -> None:
    moving = Moving()
    moving.minute()
    moving.hangs = 61.0
    for _ in range(40):
        found = moving.minute()
        moving.alive["r0"] = max(moving.sent("r0"), default=1)
        if "gaveUp" in found:
            break
    assert found["gaveUp"] == "r0"
    assert moving.sent("s0") == []
    kind, (_, error, cause) = moving.cloud.executions.answers[-1]
    assert (kind, error) == ("failure", "FileSystemHangs")
    assert "the file system of the destination on i-0bbbbbbbbbbbbbbb2 (eu-west-1) hangs" in cause
    assert "61 s" in cause


def test_machine_whose_agent_does_not_answer_counts_as_a_start() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["s0"]
    next(iter(moving.cloud.compute[WEST].machines.values())).agent = False
    assert moving.minute()["restarted"] == "s0"
    record = moving.cloud.transfers.get("first")
    assert record
    assert record.seats
    assert "NotManaged" in (record.seats.seats["s0"].trouble or "")


def test_what_the_dead_sender_had_sent_stays_on_the_meter() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["s0"]
    moving.minute()
    moving.alive["s0"] = 2
    moving.minute()
    record = moving.cloud.transfers.get("first")
    assert record
    assert record.spent
    assert record.spent.sent.bytes == 2000


def test_two_looks_at_once_start_it_once() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["s0"]
    original = moving.cloud.transfers.change

    def second(transfer: AcceptedTransfer, change: transfer_life.Change) -> TransferRecord | None:
        if "seats" in change.values:
            original(transfer, change)
        return original(transfer, change)

    moving.cloud.transfers.change = second  # type: ignore[method-assign]
    assert not moving.minute()["heartbeat"]
    assert moving.sent("s0") == []


def test_function_that_died_before_it_sent_the_command_costs_one_restart() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["s0"]
    send = moving.cloud.commands[WEST].send

    def die(*_: Any, **__: Any) -> str:
        raise SystemExit

    moving.cloud.commands[WEST].send = die  # type: ignore[method-assign]
    with pytest.raises(SystemExit):
        moving.minute()
    moving.cloud.commands[WEST].send = send  # type: ignore[method-assign]
    found = [moving.minute() for _ in range(3)]
    assert [each.get("restarted") for each in found].count("s0") == 1
    assert moving.sent("s0") == [3]


def test_task_that_was_started_anew_has_new_ends() -> None:
    moving = Moving()
    moving.minute()
    del moving.alive["s0"]
    moving.minute()
    epoch = attempt(moving.cloud)
    moving.cloud.tokens.put("first", "another", epoch)
    moving.alive = {"s0": epoch, "r0": epoch}
    assert moving.minute()["heartbeat"]
    record = moving.cloud.transfers.get("first")
    assert record
    assert record.seats
    assert (record.seats.task, record.seats.seats["s0"].restarts) == (3, 0)


def event(kind: str, start: int, **detail: Any) -> BusEvent:
    """As the second process of that start tells it."""
    body = {"schemaVersion": 1, "type": kind, "transferId": "first", "epoch": first_epoch(start) + 1, **detail}
    return BusEvent.from_document({"detail-type": kind, "detail": body})


def restarted(side: str) -> Cloud:
    moving = Moving()
    moving.minute()
    del moving.alive[side]
    moving.minute()
    return moving.cloud


def test_failure_of_a_process_that_was_replaced_is_ignored_and_that_of_its_successor_counts() -> None:
    cloud = restarted("r0")
    gone = {"side": "receiver", "seat": "r0", "error": "ReceiverError", "cause": "disk"}
    assert "ignored" in finish_transfer(noted(cloud, event("Transfer Failed", 1, **gone)), cloud.world)
    assert finish_transfer(noted(cloud, event("Transfer Failed", 2, **gone)), cloud.world) == {"released": True}


def test_failure_of_the_end_that_was_not_replaced_counts() -> None:
    told = event("Transfer Failed", 1, side="sender", seat="s0", error="ChunksFailed", cause="chunk 3")
    cloud = restarted("r0")
    assert finish_transfer(noted(cloud, told), cloud.world) == {"released": True}


@pytest.mark.parametrize("start", [1, 2])
def test_what_was_delivered_counts_whichever_sender_delivered_it(start: int) -> None:
    told = event("Transfer Delivered", start, bytes=10, files=2, chunks=1, sentBytes=12)
    cloud = restarted("s0")
    assert finish_transfer(noted(cloud, told), cloud.world) == {"released": True}


def test_data_that_arrived_while_ec2_was_asked_about_a_machine_that_ended_has_arrived() -> None:
    moving = Moving()
    compute = moving.cloud.compute[IRELAND]
    machine = compute.machines[DESTINATION_ID]
    machine.instance = replace(machine.instance, state="shutting-down")
    describe = compute.describe

    def arriving_meanwhile(ids: Any) -> Any:
        moving.cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
        return describe(ids)

    compute.describe = arriving_meanwhile  # type: ignore[method-assign, assignment]
    assert hear(stopping(DESTINATION_ID), moving.cloud.world) == {"ended": True}
    assert [kind for kind, _ in moving.cloud.executions.answers] == ["success"]
