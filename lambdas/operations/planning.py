"""Chunks and manifests of a transfer, from its listing; memory is bounded by one part and one window of items."""

from collections.abc import Iterator
from itertools import chain

from lambdas.adapters.world import World
from lambdas.core import plan
from lambdas.core.chunk import RANGE_SIZE, Chunk, item_key, range_key
from lambdas.core.errors import FailTransfer
from lambdas.core.plan import ListedEntry, ManifestPart, PlacedChunk
from lambdas.core.transfer import Planned
from lambdas.operations import retry

MANIFEST_PART_BYTES = 4 << 20


def write_chunks(world: World, transfer_id: str, listing: list[str], part_bytes: int, first_range: int) -> "Written":
    """Cut and pack what the objects of `listing` hold; large files into parts of `part_bytes`."""
    written, listed = Written(world, transfer_id, first_range), _Listing(world, listing)
    data = plan.plan_chunks(listed.forwards(), part_bytes)
    directories = plan.plan_directories(listed.backwards())
    world.chunks.put_all(written.chunks(plan.place(chain(data, directories), MANIFEST_PART_BYTES)))
    return written


def taken_up(world: World, transfer_id: str) -> Planned:
    """The plan of an earlier run as it was left; what the policy had not decided about is decided now."""
    record = world.transfers.get(transfer_id)
    if record is None or record.earlier is None:
        raise FailTransfer(f"the record of {transfer_id} has no earlier plan")
    for chunk in world.chunks.read(record.earlier.plan):
        if chunk.awaits_policy:
            retry.decide(world, transfer_id, chunk.chunk, chunk.attempt, chunk.reason or "stream-lost")
    return record.earlier


class _Listing:
    """The listing's entries; backwards only after it was read forwards, part by part, each held whole."""

    def __init__(self, world: World, keys: list[str]) -> None:
        self._world, self._keys = world, keys
        self._firsts: list[int] = []

    def forwards(self) -> Iterator[ListedEntry]:
        number = 0
        for key in self._keys:
            self._firsts.append(number)
            for line in self._lines(key):
                yield ListedEntry(number, line)
                number += 1

    def backwards(self) -> Iterator[ListedEntry]:
        for key, first in zip(reversed(self._keys), reversed(self._firsts), strict=True):
            lines = list(self._lines(key))
            yield from (ListedEntry(first + at, lines[at]) for at in reversed(range(len(lines))))

    def _lines(self, key: str) -> Iterator[bytes]:
        return (line for line in self._world.objects.lines(key) if line.strip())


class Written:
    """Turns placed chunks into items, counts them, and writes manifest parts as they fill."""

    def __init__(self, world: World, transfer_id: str, first_range: int) -> None:
        self._world, self._transfer_id, self._first = world, transfer_id, first_range * RANGE_SIZE
        self.count = self.bytes = self.last_phase = 0
        self.parts: list[str] = []

    def chunks(self, placed: Iterator[PlacedChunk | ManifestPart]) -> Iterator[Chunk]:
        """The items, as they are asked for."""
        for item in placed:
            if isinstance(item, ManifestPart):
                self.parts.append(self._key(item.number))
                self._world.objects.put(self.parts[-1], item.body)
            else:
                self.count += 1
                self.bytes += item.bytes
                self.last_phase += item.phase
                yield self._chunk(item)

    def _key(self, part: int) -> str:
        folder = f"manifest/{self._first // RANGE_SIZE}"  # a planner of a stopped run may still be writing
        return self._world.key(self._transfer_id, f"{folder}/part-{part:05d}.ndjson")

    def _chunk(self, item: PlacedChunk) -> Chunk:
        number = self._first + item.chunk
        return Chunk(
            range_key=range_key(self._transfer_id, number // RANGE_SIZE),
            item_key=item_key(number),
            chunk=number,
            state="PENDING",
            attempt=1,
            phase=item.phase,
            manifest_key=self._key(item.part),
            manifest_start=item.start,
            manifest_end=item.end,
            bytes=item.bytes,
            files=item.files,
        )
