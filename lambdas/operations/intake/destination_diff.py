"""The part of the source's listing that is at the destination already, found by the destination's daemon."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.plan import MIB
from lambdas.core.chunks.plan_remainder import Remainder, remainder
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.places.machines import EndMachine
from lambdas.core.record import transfer_life
from lambdas.core.seats import commands
from lambdas.core.seats.commands import Command
from lambdas.core.survey.survey import ComparisonSurvey, Same, Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.commands import Order, answer, run_all

# The document's own limit is 840 s. The scans before it have used some of the function's 900 s; where they leave too
# little, the function ends first and the state fails with its timeout.
COMMAND_SECONDS = 870.0


def compared(transfer: AcceptedTransfer, survey: Survey, world: World) -> Survey:
    """The survey with its comparison, where there is anything to compare; raises CommandFailed."""
    earlier = _earlier(transfer, survey, world)
    if not survey.source.parts or not (survey.destination.occupied or earlier):
        return survey
    control, parts = world.control(transfer), survey.source.parts
    if transfer.request.compare == "digest":
        _scan(transfer, transfer.at_source, commands.scan_digests(transfer, control, parts), world)
    printed = _scan(transfer, transfer.at_destination, commands.scan_comparison(transfer, control, parts), world)
    found = ComparisonSurvey.from_document(printed)
    there, rest = found.same_bytes, _rest(transfer, earlier, found, world) if earlier else None
    if rest is not None:
        there += found.bytes - rest.undelivered
        found = found.model_copy(update={"bytes": rest.undelivered})
    same = Same(files=found.same_files, bytes=there)
    world.transfers.change(transfer, transfer_life.note(same=same))
    if found.left_alone:
        world.transfers.change(transfer, transfer_life.note(left_alone=found.left_alone))
    folders = {"folder": commands.changed_folder(transfer), "equal_folder": commands.equal_folder(transfer)}
    return survey.model_copy(update={"comparison": found, **folders, "goes_on": rest is not None})


def _earlier(transfer: AcceptedTransfer, survey: Survey, world: World) -> TransferPlan | None:
    """The plan of an earlier run, where the source is as it was and all of the plan is still there."""
    if not transfer.request.tells_content:
        return None
    record = world.transfers.get(transfer.transfer_id) if transfer.run > 1 else None
    plan = record.earlier if record else None
    if plan is None or plan.listing is None or plan.listing.digest != survey.source.listing_digest:
        return None
    wanted = transfer.request.chunk_size_mib
    kept = set(world.objects.keys(world.shared_key(transfer, "")))
    needed = {world.shared_key(transfer, name) for name in ("plan.json", *plan.manifest_parts)}
    return plan if needed <= kept and wanted in (None, plan.chunk_size_bytes // MIB) else None


def _rest(transfer: AcceptedTransfer, plan: TransferPlan, found: ComparisonSurvey, world: World) -> Remainder | None:
    """Return what is left of the plan, where the destination has every file that the plan has brought to its end.

    One that was removed or changed meanwhile would never be sent again.
    """
    rest = remainder(world.chunks.read(transfer.partition, plan), plan.plan_id)
    missing = (found.files + found.symlinks, found.bytes)
    return rest if rest is not None and (rest.entries, rest.bytes) == missing else None


def _scan(transfer: AcceptedTransfer, end: EndMachine, command: Command, world: World) -> dict[str, Any]:
    order = Order.on(end, "scan", command)
    return answer(order, *run_all(world, transfer, [order], COMMAND_SECONDS))
