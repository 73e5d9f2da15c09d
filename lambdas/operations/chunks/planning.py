"""Chunks and manifests of a transfer, from its listing; memory is bounded by one part and one window of items."""

import json
from collections.abc import Iterator
from itertools import chain

from lambdas.adapters.world import World
from lambdas.core.chunks import object_parts
from lambdas.core.chunks import plan as planner
from lambdas.core.chunks.chunk import Chunk, item_key, range_key, range_size
from lambdas.core.chunks.plan import ListedEntry, ManifestPart, PlacedChunk
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.errors import FailTransfer
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks import retry

MANIFEST_PART_BYTES = 4 << 20


def write_chunks(
    world: World, transfer: AcceptedTransfer, listing: list[str], part_bytes: int, first_range: int
) -> "Written":
    """Cut and pack what the objects of `listing` hold; large files into parts of `part_bytes`."""
    written, listed = Written(world, transfer, first_range), Listing(world)
    entries = chain.from_iterable(listed.part(key) for key in listing)
    data = planner.plan_chunks(entries, part_bytes, object_parts.check_of(transfer, part_bytes))
    directories = planner.plan_directories(listed.backwards())
    world.chunks.put_all(written.chunks(planner.place(chain(data, directories), MANIFEST_PART_BYTES)))
    return written


def part_bytes_for(world: World, transfer: AcceptedTransfer, listing: list[str], size_bytes: int, usual: int) -> int:
    """Bytes of a large file's parts: `usual`, unless they become parts of an object, of which the largest file has few.

    `size_bytes`: of all files together; where these fit, none need be looked at.
    """
    if not object_parts.become_parts(transfer) or transfer.request.chunk_size_mib is not None:
        return usual
    found = object_parts.part_bytes(usual, 0)
    if object_parts.part_bytes(found, size_bytes) == found:
        return found
    lines = chain.from_iterable(world.objects.lines(key) for key in listing)
    largest = max((json.loads(line).get("size", 0) for line in lines if line.strip()), default=0)
    return object_parts.part_bytes(found, largest)


def taken_up(world: World, transfer: AcceptedTransfer, equal_folder: str | None) -> TransferPlan:
    """The plan of an earlier run as it was left; what the policy had not decided about is decided now.

    What was found equal is in `equal_folder`: this run has compared anew.
    """
    record = world.transfers.get(transfer.transfer_id)
    plan = record.earlier if record else None
    if plan is None or plan.listing is None:
        raise FailTransfer(f"the record of {transfer.transfer_id} has no earlier plan")
    for chunk in world.chunks.read(transfer.partition, plan):
        if chunk.awaits_policy:
            retry.decide(world, transfer.partition, chunk.chunk, chunk.attempt, chunk.reason or "stream-lost")
    lanes = object_parts.lanes(transfer, plan.lanes_per_path, plan.chunk_size_bytes)
    listed = plan.listing.model_copy(update={"equal_folder": equal_folder})
    return plan.model_copy(update={"listing": listed, "lanes_per_path": lanes})


class Listing:
    """The listing's entries, object by object; then backwards those of the objects that were read, each held whole."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._next = 0
        self._read: list[tuple[str, int]] = []

    def part(self, key: str) -> Iterator[ListedEntry]:
        """The entries of the next object."""
        self._read.append((key, self._next))
        for line in self._lines(key):
            yield ListedEntry(self._next, line)
            self._next += 1

    def backwards(self) -> Iterator[ListedEntry]:
        """Return all entries that were read, the last one first."""
        for key, first in reversed(self._read):
            lines = list(self._lines(key))
            yield from (ListedEntry(first + at, lines[at]) for at in reversed(range(len(lines))))

    def _lines(self, key: str) -> Iterator[bytes]:
        return (line for line in self._world.objects.lines(key) if line.strip())


class Written:
    """Turns placed chunks into items, counts them, and writes manifest parts as they fill.

    The first `planned` chunks are there: somebody may have changed their items since.
    """

    def __init__(self, world: World, transfer: AcceptedTransfer, first_range: int, planned: int = 0) -> None:
        self._world, self._transfer = world, transfer
        self._size = range_size(transfer.partition)
        self._first = first_range * self._size
        self._plan_id = transfer.plan_id
        self._planned = planned
        self._expires_at = int(world.clock.now()) + world.env.chunk_retention_seconds
        self.count = self.bytes = self.last_phase = 0
        self.parts: list[str] = []

    def chunks(self, placed: Iterator[PlacedChunk | ManifestPart]) -> Iterator[Chunk]:
        """The items, as they are asked for."""
        for item in placed:
            if isinstance(item, ManifestPart):
                self.parts.append(self._key(item.number))
                if self.count > self._planned:
                    self._world.objects.put(self._world.shared_key(self._transfer, self.parts[-1]), item.body)
            else:
                self.count += 1
                self.bytes += item.bytes
                self.last_phase += item.phase
                if self.count > self._planned:
                    yield self._chunk(item)

    def _key(self, part: int) -> str:
        """Below the prefix of what the ends share: an item of less than 1 KB costs one write."""
        folder = f"manifest/{self._first // self._size}"  # a planner of a stopped run may still be writing
        return f"{folder}/part-{part:05d}.ndjson"

    def _chunk(self, item: PlacedChunk) -> Chunk:
        number = self._first + item.chunk
        return Chunk(
            range_key=range_key(self._transfer.partition, number // self._size),
            item_key=item_key(number),
            chunk=number,
            state="PENDING",
            attempt=1,
            plan_id=self._plan_id,
            phase=item.phase,
            manifest_key=self._key(item.part),
            manifest_start=item.start,
            manifest_end=item.end,
            bytes=item.bytes,
            files=item.files,
            expires_at=self._expires_at,
        )
