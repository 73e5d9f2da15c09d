"""Chunks made of listing lines, lazily: an iterator in, an iterator out, memory bounded by one bundle.

Hard links and directories come at the end, one chunk at a time: a link follows the file that it is a name of, and a
directory all that it contains, since mode and mtime are set last. The listing is that
of a walk, each directory before what it holds; read backwards, it has them in the order that is wanted.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

MIB = 1 << 20
MAX_BUNDLE_ENTRIES = 2_000
# Lines of 2 000 entries with paths of 4 096 bytes, escaped to three times that, would make 50 MB.
MAX_BUNDLE_LINES_BYTES = MIB
# At the end each lane waits half a chunk's time on average: 1/6 of the whole at the thesis' 3 chunks, 1 % at 48.
CHUNKS_PER_LANE = 48
# The sender gives a path between regions as many lanes as its round trip wants, which is not known here: so many at
# most to begin with, and no more than its share of so many among the paths of that moment. Each lane has a third of the
# chunks above, and waits for 3 %.
GROWN_LANES, GROWN_LANES_OF_ALL = 16, 64
SMALLEST_AUTO_MIB, LARGEST_AUTO_MIB = 1, 64
# One flow between machines that share no placement group carries at most 5 Gbit/s.
FLOW_MB_S = 625.0
# Below this mean size a lane spends its time on opening, making and renaming files: another one uses a second core.
SMALL_FILE_BYTES = 256 << 10
# What must follow other entries.
LAST_KINDS = ("directory", "hardlink")
_LAST_WORDS = tuple(f'"{kind}"'.encode() for kind in LAST_KINDS)


class ListedEntry(NamedTuple):
    """A line of the survey's listing (contract `listing-entry`), without its end, and its number in it."""

    number: int
    line: bytes


@dataclass(frozen=True)
class PlannedChunk:
    """Manifest lines (newline-ended) that travel together; bytes of payload, entries completed."""

    lines: bytes
    bytes: int
    files: int
    phase: int


def chunk_size(size_bytes: int, lanes: int, requested_mib: int | None) -> int:
    """Bytes of a large file's parts: the request's, or the largest power of two that leaves 48 chunks per lane."""
    if requested_mib is not None:
        return requested_mib * MIB
    fair = size_bytes // (CHUNKS_PER_LANE * max(lanes, 1)) // MIB
    power = 1 << max(fair.bit_length() - 1, 0)
    return min(max(power, SMALLEST_AUTO_MIB), LARGEST_AUTO_MIB) * MIB


def lanes_to_plan_for(lanes: int, paths: int, *, between_regions: bool) -> int:
    """How many lanes the chunks are for: those that `paths` paths of `lanes` begin with, or what becomes of them."""
    grown = min(GROWN_LANES * paths, GROWN_LANES_OF_ALL) if between_regions else 0
    return max(lanes * paths, ceil(grown / 3))


# As many as the daemon's MAX_LANES_PER_PATH; a membership with more is refused.
MOST_LANES = 32


def lanes_per_path(path_mb_s: float, size_bytes: int, files: int) -> int:
    """TCP streams that a path of `path_mb_s` MB/s begins with; where the round trip is long the sender adds to them.

    No more than the path can use: two streams into one file wait for each other's writes (docs/design/003).
    """
    flows = ceil(path_mb_s / FLOW_MB_S)
    small = size_bytes < files * SMALL_FILE_BYTES
    return min(max(flows, 2 if small else 1), MOST_LANES)


def segment_line(entry: ListedEntry, offset: int, length: int) -> bytes:
    """One manifest line (contract `segment`): the entry's own, with what is sent of it."""
    return b'{"entry":%d,"offset":%d,"length":%d,%b\n' % (entry.number, offset, length, entry.line.strip()[1:])


@dataclass
class _Bundle:
    phase: int
    lines: list[bytes] = field(default_factory=list)
    payload: int = 0
    held: int = 0

    def add(self, line: bytes, size: int) -> None:
        self.lines.append(line)
        self.payload += size
        self.held += len(line)

    def full(self, size: int, limit: int) -> bool:
        """Return whether an entry of `size` bytes must go into the next bundle."""
        return bool(self.lines) and (
            self.payload + size > limit or len(self.lines) >= MAX_BUNDLE_ENTRIES or self.held >= MAX_BUNDLE_LINES_BYTES
        )

    def take(self) -> PlannedChunk:
        chunk = PlannedChunk(b"".join(self.lines), self.payload, len(self.lines), self.phase)
        self.lines, self.payload, self.held = [], 0, 0
        return chunk


SizeCheck = Callable[[ListedEntry, int], None]
"""Raises for a file of so many bytes that cannot be sent in chunks of this plan."""


def any_size(_entry: ListedEntry, _size: int) -> None:
    """The check of a destination that takes files of any size."""


def plan_chunks(entries: Iterable[ListedEntry], part_bytes: int, check: SizeCheck = any_size) -> Iterator[PlannedChunk]:
    """Phase 0: bundles of small entries and aligned parts of large files, each of which is checked."""
    bundle = _Bundle(phase=0)
    for entry in entries:
        fields = json.loads(entry.line)
        size = fields["size"] if fields["kind"] == "file" else 0
        if fields["kind"] in LAST_KINDS:
            continue
        if size > part_bytes:
            check(entry, size)
            yield from _parts(entry, size, part_bytes)
        else:
            if bundle.full(size, part_bytes):
                yield bundle.take()
            bundle.add(segment_line(entry, 0, size), size)
    if bundle.lines:
        yield bundle.take()


def _parts(entry: ListedEntry, size: int, part_bytes: int) -> Iterator[PlannedChunk]:
    """Parts start at multiples of `part_bytes`, so each is a subtree of the file's BLAKE3 tree."""
    for offset in range(0, size, part_bytes):
        length = min(part_bytes, size - offset)
        last = offset + length == size
        yield PlannedChunk(segment_line(entry, offset, length), length, int(last), 0)


def plan_directories(backwards: Iterable[ListedEntry]) -> Iterator[PlannedChunk]:
    """Phase 1: of the listing read from its end, hard links and directories, each after all that it holds."""
    bundle = _Bundle(phase=1)
    for entry in backwards:
        # Most lines are files: they need not be parsed to be left out.
        if not any(word in entry.line for word in _LAST_WORDS) or json.loads(entry.line)["kind"] not in LAST_KINDS:
            continue
        if bundle.full(0, 1):
            yield bundle.take()
        bundle.add(segment_line(entry, 0, 0), 0)
    if bundle.lines:
        yield bundle.take()


@dataclass(frozen=True)
class ManifestPart:
    """One object to write."""

    number: int
    body: bytes


@dataclass(frozen=True)
class PlacedChunk:
    """A chunk with its number and where its lines lie."""

    chunk: int
    part: int
    start: int
    end: int
    bytes: int
    files: int
    phase: int


def place(
    chunks: Iterable[PlannedChunk], part_bytes: int, first: int = 0, part: int = 0
) -> Iterator[PlacedChunk | ManifestPart]:
    """Number the chunks from `first` on and cut the manifest into parts of about `part_bytes`, numbered from `part` on.

    A part follows its chunks.
    """
    buffer = bytearray()
    for number, chunk in enumerate(chunks, first):
        if buffer and len(buffer) + len(chunk.lines) > part_bytes:
            yield ManifestPart(part, bytes(buffer))
            buffer.clear()
            part += 1
        start = len(buffer)
        buffer += chunk.lines
        yield PlacedChunk(number, part, start, len(buffer), chunk.bytes, chunk.files, chunk.phase)
    if buffer:
        yield ManifestPart(part, bytes(buffer))
