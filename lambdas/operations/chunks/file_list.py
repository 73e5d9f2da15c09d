"""The list of files beside the report: written once the digests agree, kept when the listing goes."""

from collections.abc import Iterator
from itertools import islice

from pydantic import TypeAdapter

from lambdas.adapters.world import World
from lambdas.core.chunks import file_list
from lambdas.core.chunks.file_list import Digests, FileEntry
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.report.page.render import SHOWN_FILES, Files
from lambdas.core.transfer.accepted import AcceptedTransfer

_LINE = TypeAdapter(FileEntry)


def write(world: World, transfer: AcceptedTransfer, plan: TransferPlan, digests: Digests) -> None:
    """`files/part-NNNNN.ndjson` from the plan's listing and the digests of its entries."""
    folder = plan.listing.planned_folder if plan.listing else "listing/"
    found = file_list.parts(file_list.lines(_lines(world, world.shared_key(transfer, folder)), digests))
    for number, body in enumerate(found):
        world.objects.put(world.key(transfer.transfer_id, f"files/part-{number:05d}.ndjson"), body)


def read(world: World, transfer_id: str, total: int) -> Files | None:
    """The first of `total` files for the page; None where there is no list."""
    shown = [_LINE.validate_json(line) for line in islice(_lines(world, world.key(transfer_id, "files/")), SHOWN_FILES)]
    where = f"s3://{world.env.control_bucket}/{world.key(transfer_id, 'files/')}"
    return Files(shown, max(total, len(shown)), where) if shown else None


def _lines(world: World, prefix: str) -> Iterator[bytes]:
    for key in world.objects.keys(prefix):
        yield from (line for line in world.objects.lines(key) if line.strip())
