"""Chunks and manifests of a transfer, from its listing: read once, in memory bounded by one part and one window."""

import json
from collections.abc import Iterator

from lambdas.adapters.world import World
from lambdas.core import plan
from lambdas.core.chunk import RANGE_SIZE, Chunk, item_key, range_key
from lambdas.core.plan import ListingEntry, ManifestPart, PlacedChunk

MANIFEST_PART_BYTES = 4 << 20


def write_chunks(world: World, transfer_id: str, listing: list[str], part_bytes: int) -> "Written":
    """Cut and pack what the listing's parts (keys) hold; large files into parts of `part_bytes`."""
    written = Written(world, transfer_id)
    placed = plan.place(plan.plan_chunks(_entries(world, listing), part_bytes), MANIFEST_PART_BYTES)
    world.chunks.put_all(written.chunks(placed))
    return written


def _entries(world: World, keys: list[str]) -> Iterator[ListingEntry]:
    for key in keys:
        for line in world.objects.lines(key):
            if line.strip():
                yield json.loads(line)


class Written:
    """Turns placed chunks into items, counts them, and writes manifest parts as they fill."""

    def __init__(self, world: World, transfer_id: str) -> None:
        self._world, self._transfer_id = world, transfer_id
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
        return self._world.key(self._transfer_id, f"manifest/part-{part:05d}.ndjson")

    def _chunk(self, item: PlacedChunk) -> Chunk:
        return Chunk(
            range_key=range_key(self._transfer_id, item.chunk // RANGE_SIZE),
            item_key=item_key(item.chunk),
            chunk=item.chunk,
            state="PENDING",
            attempt=1,
            phase=item.phase,
            manifest_key=self._key(item.part),
            manifest_start=item.start,
            manifest_end=item.end,
            bytes=item.bytes,
            files=item.files,
        )
