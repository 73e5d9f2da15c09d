"""A transfer with several machines at its ends while its data moves, looked at each minute."""

from dataclasses import replace
from typing import Any

from lambdas.core.chunks.events import TransferFailed
from lambdas.core.fleet.membership import Membership
from lambdas.core.record.transfer_record import Planned, TransferRecord
from lambdas.core.seats.epochs import first_epoch, start_of
from lambdas.handlers.reactions.finish_transfer import finish_transfer
from lambdas.operations.fleet import membership
from lambdas.operations.named import transfer as record_of
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import progress
from tests.lambdas.fleet import attempt
from tests.lambdas.machines import failed
from tests.lambdas.many import begun, many
from tests.lambdas.minute import minute


class Several:
    """Its daemons report while they live."""

    def __init__(self, senders: int = 2, receivers: int = 2) -> None:
        self.accepted = many(senders, receivers)
        self.cloud = begun(self.accepted)
        record = record_of(self.cloud.world, "first")
        assert isinstance(record, Planned)
        membership.begin(self.cloud.world, record)
        self.cloud.tokens.put("first", "token", attempt(self.cloud, self.accepted))
        self.alive = {seat.seat_id: 1 for seat in self.accepted.seats}
        self.sequence = 0

    def minute(self) -> Any:
        self.cloud.clock.time += 60
        self.sequence += 1
        for seat_id, start in self.alive.items():
            told = progress(self.sequence, start=start, sent=1000).model_copy(update={"at": self.cloud.clock.time})
            self.cloud.agents.progresses[self.accepted.partition, seat_id] = told
        return minute(self.cloud)["first"]

    def machine_ends(self, seat_id: str) -> None:
        machine = self.accepted.seat(seat_id).machine
        held = self.cloud.compute[machine.region].machines[machine.instance_id]
        held.instance = replace(held.instance, state="terminated")
        self.alive.pop(seat_id, None)

    def note(self, seat_id: str, error: str) -> dict[str, Any]:
        """What a daemon of the first start writes before it ends; the event that it puts."""
        side = "sender" if seat_id.startswith("s") else "receiver"
        who = {"transferId": "first", "side": side, "seat": seat_id, "epoch": first_epoch(1)}
        failed = {"schemaVersion": 1, "type": "Transfer Failed", **who, "error": error, "cause": "of this machine"}
        self.cloud.agents.outcomes[self.accepted.partition, seat_id] = TransferFailed.from_document(failed)
        return failed

    def says(self, seat_id: str, error: str) -> dict[str, Any]:
        event = {"detail-type": "Transfer Failed", "detail": self.note(seat_id, error)}
        return finish_transfer(BusEvent.model_validate(event), self.cloud.world)

    def cannot_start(self, seat_id: str) -> None:
        machine, document = self.accepted.seat(seat_id).machine, "send" if seat_id.startswith("s") else "receive"
        self.cloud.commands[machine.region].scripts[document, machine.instance_id] = lambda _: failed("cpt: no memory")

    def sent(self, seat_id: str) -> list[int]:
        region = self.accepted.seat(seat_id).machine.region
        commands = [command for _, _, command in self.cloud.commands[region].sent if command]
        return [start_of(command["epoch"]) for command in commands if command.get("seat") == seat_id]

    @property
    def membership(self) -> Membership:
        found = self.cloud.agents.membership(self.accepted.partition)
        assert found
        return found

    @property
    def record(self) -> TransferRecord:
        found = self.cloud.transfers.get("first")
        assert found
        return found

    @property
    def ended(self) -> str | None:
        """The error with which the task was failed."""
        told: list[Any] = [said for kind, said in self.cloud.executions.answers if kind == "failure"]
        return told[-1][1] if told else None

    @property
    def joined(self) -> list[tuple[str, int, str, str]]:
        return [(one.path_id, one.generation, one.sender or "s0", one.to or "r0") for one in self.membership.paths]
