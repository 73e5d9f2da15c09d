"""Delete Extras: everything has arrived and is verified; what was confirmed at the destination goes."""

from itertools import islice

from pydantic import TypeAdapter

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.deletion import Deleted, Deletion, ExtrasSurvey, Remaining, RemainingEntry, in_words
from lambdas.core.documents import Handover
from lambdas.core.ends import commands
from lambdas.core.ends.epochs import first_epoch
from lambdas.core.errors import CommandFailed, DeletionIncomplete, DeletionInterrupted
from lambdas.core.transfer import AcceptedTransfer
from lambdas.core.transfer_record import Planned
from lambdas.operations.ends.commands import Order, answer, run_all
from lambdas.operations.fence import serving
from lambdas.operations.intake.extras import where
from lambdas.runtime.handler import task_state

# The document's own limit is 840 s; the Lambda has 900.
COMMAND_SECONDS = 870.0
# What an error names: its cause has 1 000 characters in events, and a path may have some hundred.
IN_CAUSE = 5
_LINE = TypeAdapter(RemainingEntry)


class SurveyedExtras(Handover):
    """The part of the survey that says what was confirmed."""

    extras: ExtrasSurvey


class DeleteInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: SurveyedExtras


def delete_extras(event: DeleteInput, world: World) -> Deleted:
    """What became of them. The same order may be given again, whatever became of an earlier one.

    Raises DeletionInterrupted, DeletionIncomplete or TransferFenced.
    """
    transfer, extras = event.transfer, event.survey.extras
    record = serving(world, transfer, Planned)
    command = commands.delete(transfer, world.control(transfer), extras, first_epoch(record.attempt))
    order = Order.on(transfer.destination, "delete", command)
    try:
        printed = answer(order, *run_all(world, transfer.transfer_id, [order], COMMAND_SECONDS))
    except CommandFailed as error:
        raise DeletionInterrupted(f"removing {extras.words()}: {error}") from None
    found = Deletion.from_document(printed)
    deleted = _deleted(transfer, found, world)
    world.transfers.change(transfer, transfer_life.note(deleted=deleted))
    if deleted.remaining is not None:
        raise DeletionIncomplete(_cause(transfer, found, deleted.remaining, world))
    return deleted


def _deleted(transfer: AcceptedTransfer, found: Deletion, world: World) -> Deleted:
    rest = f"s3://{world.env.control_bucket}/{world.shared_key(transfer, commands.remaining_folder(transfer))}"
    remaining = Remaining(counts=found.remaining, where=rest) if found.remaining else None
    return Deleted(entries=found.entries, bytes=found.bytes, where=where(transfer, world), remaining=remaining)


def _cause(transfer: AcceptedTransfer, found: Deletion, remaining: Remaining, world: World) -> str:
    count = sum(remaining.counts.values())
    key = world.shared_key(transfer, f"{commands.remaining_folder(transfer)}part-00000.ndjson")
    lines = (line for line in world.objects.lines(key) if line.strip())
    named = [_LINE.validate_json(line).words() for line in islice(lines, IN_CAUSE)]
    more = f" and {count - len(named):,} more" if count > len(named) else ""
    return (
        f"of {count + found.entries:,} confirmed extras at {transfer.request.destination.path} {count:,} are still "
        f"there ({in_words(remaining.counts)}): {'; '.join(named)}{more}; all: {remaining.where}"
    )


handler = task_state("Delete Extras", DeleteInput, delete_extras)
