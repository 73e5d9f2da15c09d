"""The list of what was left out: kept beside the report, since the ends' own objects go with the transfer."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pydantic import TypeAdapter

from lambdas.adapters.world import World
from lambdas.core.chunks.skipped import NAMED, Skipped, SkippedEntry
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer

# Where it stays.
KEPT = "skipped/"
_LINE = TypeAdapter(SkippedEntry)


class Found(NamedTuple):
    """Entries of the list, and how many of them are files."""

    entries: int
    files: int


def keep(world: World, transfer: AcceptedTransfer, plan_id: str) -> Found:
    """Copy the list of the plan's sender, line by line checked."""
    entries = files = 0
    for number, key in enumerate(world.objects.keys(world.shared_key(transfer, f"digests/{plan_id}/skipped/"))):
        lines = [line for line in world.objects.lines(key) if line.strip()]
        found = [_LINE.validate_json(line) for line in lines]
        entries += len(found)
        files += sum(entry.kind == "file" for entry in found)
        world.objects.put(world.key(transfer.transfer_id, f"{KEPT}part-{number:05d}.ndjson"), b"\n".join(lines) + b"\n")
    return Found(entries, files)


def count(record: TransferRecord) -> int:
    """Return how many entries were left out, as the sender said when everything else had arrived."""
    return (record.delivered.skipped if record.delivered else None) or 0


def read(world: World, record: TransferRecord) -> Skipped | None:
    """Return what was left out, for an error and a report; None where nothing was, or the data did not arrive."""
    if not count(record):
        return None
    transfer_id = record.transfer.transfer_id
    first = [_LINE.validate_json(line) for line in islice(_lines(world, transfer_id), NAMED)]
    where = f"s3://{world.env.control_bucket}/{world.key(transfer_id, KEPT)}"
    return Skipped(count=count(record), first=first, where=where)


def _lines(world: World, transfer_id: str) -> Iterator[bytes]:
    for key in world.objects.keys(world.key(transfer_id, KEPT)):
        yield from (line for line in world.objects.lines(key) if line.strip())
