"""What of the source's listing is at the destination already: found by the destination's daemon, and kept in mind."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core import commands
from lambdas.core.commands import Command
from lambdas.core.transfer import AcceptedTransfer, ComparisonSurvey, EndMachine, Same, Survey
from lambdas.operations.commands import Order, answer, run_all

# The document's own limit is 840 s. The scans before it have used some of the function's 900 s; where they leave too
# little, the function ends first and the state fails with its timeout.
COMMAND_SECONDS = 870.0


def compared(transfer: AcceptedTransfer, survey: Survey, world: World) -> Survey:
    """The survey with its comparison; raises CommandFailed."""
    control, parts = world.control(transfer.transfer_id), survey.source.parts
    if transfer.request.compare == "digest":
        _scan(transfer, transfer.source, commands.scan_digests(transfer, control, parts), world)
    printed = _scan(transfer, transfer.destination, commands.scan_comparison(transfer, control, parts), world)
    found = ComparisonSurvey.from_document(printed)
    same = Same(files=found.same_files, bytes=found.same_bytes)
    world.transfers.note(transfer.transfer_id, same=same.to_document())
    return survey.model_copy(update={"comparison": found})


def _scan(transfer: AcceptedTransfer, end: EndMachine, command: Command, world: World) -> dict[str, Any]:
    order = Order.on(end, "scan", command)
    return answer(order, *run_all(world, transfer.transfer_id, [order], COMMAND_SECONDS))
