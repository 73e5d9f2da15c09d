"""Confirmed extras, removed by the destination's daemon: what became of them, in words where any is still there."""

from itertools import islice

from pydantic import TypeAdapter

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import CommandFailed, DeletionInterrupted, SurveyProblem
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.request.deletion import Deleted, Deletion, ExtrasSurvey, Remaining, RemainingEntry, in_words
from lambdas.core.seats import commands
from lambdas.core.seats.commands import Command
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake.extras import where
from lambdas.operations.seats.commands import Order, answer, run_all

# The document's own limit is 840 s; the Lambda has 900.
COMMAND_SECONDS = 870.0
# What an error names: its cause has 1 000 characters in events, and a path may have some hundred.
IN_CAUSE = 5
_LINE = TypeAdapter(RemainingEntry)


class SurveyedExtras(Handover):
    """The part of the survey that says what was confirmed."""

    extras: ExtrasSurvey


class RemovalInput(Handover):
    """Input of the states that remove."""

    transfer: AcceptedTransfer
    survey: SurveyedExtras


def removed(record: TransferRecord, extras: ExtrasSurvey, command: Command, world: World) -> Deletion:
    """What the daemon says, on a machine of the destination that is left; raises DeletionInterrupted."""
    transfer = record.transfer
    machine = next(seat.machine for seat in record.living if seat.role == "receiver")
    order = Order.on(machine, "delete", command)
    try:
        printed = answer(order, *run_all(world, transfer, [order], COMMAND_SECONDS))
    except (CommandFailed, SurveyProblem) as error:
        raise DeletionInterrupted(f"removing {extras.words()}: {error}") from None
    return Deletion.from_document(printed)


def deleted(transfer: AcceptedTransfer, found: Deletion, world: World) -> Deleted:
    """The same as the report has it."""
    rest = f"s3://{world.env.control_bucket}/{world.shared_key(transfer, commands.remaining_folder(transfer))}"
    remaining = Remaining(counts=found.remaining, where=rest) if found.remaining else None
    return Deleted(
        entries=found.entries, bytes=found.bytes, where=where(transfer, world), remaining=remaining, kept=found.kept
    )


def cause(transfer: AcceptedTransfer, found: Deletion, remaining: Remaining, world: World) -> str:
    """Why it is not complete."""
    count = sum(remaining.counts.values())
    key = world.shared_key(transfer, f"{commands.remaining_folder(transfer)}part-00000.ndjson")
    lines = (line for line in world.objects.lines(key) if line.strip())
    named = [_LINE.validate_json(line).words() for line in islice(lines, IN_CAUSE)]
    more = f" and {count - len(named):,} more" if count > len(named) else ""
    return (
        f"of {count + found.entries:,} confirmed extras at {transfer.request.destination.where} {count:,} are still "
        f"there ({in_words(remaining.counts)}): {'; '.join(named)}{more}; all: {remaining.where}"
    )
