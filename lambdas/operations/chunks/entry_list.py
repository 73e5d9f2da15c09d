"""The list of every entry, beside the report: written once the digests agree, before the listing goes."""

from collections.abc import Iterator
from itertools import chain

from lambdas.adapters.world import World
from lambdas.core.chunks import entry_list
from lambdas.core.chunks.file_list import Digests, parts
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.request.deletion import Deletion, ExtrasSurvey
from lambdas.core.seats import commands
from lambdas.core.transfer.accepted import AcceptedTransfer

# Of the 900 s of Verify Transfer; the digests of ten million entries, read before, take it about 200 s.
LIST_SECONDS = 400.0
# Its command may take 870 s of the 900 s of Delete Extras.
EXTRAS_SECONDS = 20.0


def folder(transfer: AcceptedTransfer) -> str:
    """Where it lies, below `transfers/NAME/`: of this run alone."""
    return f"entries/{transfer.run}/"


def where(world: World, transfer: AcceptedTransfer) -> str | None:
    """Return its folder (`s3://…/`); None where the transfer did not come so far."""
    prefix = world.key(transfer.transfer_id, folder(transfer))
    return f"s3://{world.env.control_bucket}/{prefix}" if world.objects.keys(prefix) else None


def write(
    world: World, transfer: AcceptedTransfer, plan: TransferPlan, digests: Digests, record: TransferRecord | None
) -> None:
    """Write `part-NNNNN.ndjson`: what was planned, what was equal, what was not selected, and how many they are."""
    deadline = world.clock.monotonic() + LIST_SECONDS
    planned = plan.listing.planned_folder if plan.listing else "listing/"
    listed = _lines(world, world.shared_key(transfer, planned))
    skipped = _lines(world, world.shared_key(transfer, f"digests/{plan.plan_id}/skipped/"))
    found = entry_list.sent(listed, digests, skipped) if plan.chunks else entry_list.directories(listed)
    if plan.listing and plan.listing.equal_folder:
        listing = _lines(world, world.shared_key(transfer, "listing/"))
        equal = _lines(world, world.shared_key(transfer, plan.listing.equal_folder))
        found = chain(found, entry_list.equal(listing, equal))
    if record is not None and record.unselected is not None:
        unselected = _lines(world, world.shared_key(transfer, "unselected/"))
        found = chain(found, entry_list.unselected(unselected))
    lines = entry_list.bounded(found, lambda: world.clock.monotonic() >= deadline)
    _put(world, transfer, "part", lines)


def write_extras(world: World, transfer: AcceptedTransfer, confirmed: ExtrasSurvey, found: Deletion) -> None:
    """Write `extras-NNNNN.ndjson`, which sorts before the others: what became of the extras that were confirmed."""
    deadline = world.clock.monotonic() + EXTRAS_SECONDS
    listed = _lines(world, world.shared_key(transfer, commands.extras_folder(transfer)), confirmed.parts)
    # Make Way may have left more of them, in objects after these.
    rest = _lines(world, world.shared_key(transfer, commands.remaining_folder(transfer)), found.remaining_parts)
    lines = entry_list.bounded(entry_list.extras(listed, rest), lambda: world.clock.monotonic() >= deadline)
    _put(world, transfer, "extras", lines)


def _put(world: World, transfer: AcceptedTransfer, name: str, lines: Iterator[bytes]) -> None:
    for number, body in enumerate(parts(lines)):
        key = world.key(transfer.transfer_id, f"{folder(transfer)}{name}-{number:05d}.ndjson")
        world.objects.put(key, body)


def _lines(world: World, prefix: str, objects: int | None = None) -> Iterator[bytes]:
    """Lines of the objects below `prefix`, or of the first ones."""
    for key in world.objects.keys(prefix)[:objects]:
        yield from (line for line in world.objects.lines(key) if line.strip())
