"""A listing, chunk items and digests of any size, made while they are read: nothing of them is kept."""

from dataclasses import dataclass
from hashlib import blake2b

from lambdas.core.chunks.chunk import RANGE_SIZE, item_key, range_key
from tests.lambdas import builders

# As `cpt-relay scan` cuts its listing (defaults.rs, PART_LINES).
PART_LINES = 50_000
TRANSFER = "scale"
SHARED = builders.shared(TRANSFER)
PREFIX = f"ends/{SHARED}/"
LANES = 8
PATHS = ("direct", *(f"pair-{slot}" for slot in range(1, 9)))


@dataclass(frozen=True)
class Source:
    """`directories` directories in one, each with `files_each` files of `file_bytes`."""

    name: str
    directories: int
    files_each: int
    file_bytes: int

    @property
    def files(self) -> int:
        """Regular files."""
        return self.directories * self.files_each

    @property
    def payload(self) -> int:
        """Bytes."""
        return self.files * self.file_bytes

    @property
    def entries(self) -> int:
        """Lines of the listing."""
        return self.directories + self.files

    @property
    def parts(self) -> int:
        """Objects of the listing."""
        return -(-self.entries // PART_LINES)

    def listing(self, part: int) -> bytes:
        """A part of the listing, in the order of a walk: each directory before what it holds."""
        first = part * PART_LINES
        return b"".join(self._line(number) for number in range(first, min(first + PART_LINES, self.entries)))

    def digests(self, part: int) -> bytes:
        """A part of an end's digests: a line for each entry, by its number."""
        entries = range(part * PART_LINES, min((part + 1) * PART_LINES, self.entries))
        return b"".join(f'{{"entry": {entry}, "digest": "{digest(entry)}"}}\n'.encode() for entry in entries)

    def _line(self, number: int) -> bytes:
        directory, place = divmod(number, self.files_each + 1)
        path = f"archive/project-{directory // 1000:06d}/scan-{directory:08d}"
        if place:
            path += f"/measurement-{place:08d}.dat"
        kind = "file" if place else "directory"
        size = self.file_bytes if place else 0
        text = (
            f'{{"path":"{path}","source":"/data/{path}","kind":"{kind}","size":{size},"mode":420,'
            f'"mtimeNs":1700000000000000000,"inode":{number}}}\n'
        )
        return text.encode()


def delivered(chunk: int, entries: int, chunk_bytes: int, rate_mb_s: float) -> str:
    """A chunk's item as the receiver leaves it, in DynamoDB's JSON; `rate_mb_s` MB/s in all.

    The first chunk counts for all `entries`. Written out, since making it must take less time than reading it.
    """
    seconds = chunk_bytes / 1e6 / rate_mb_s
    at = 1.7e9 + chunk * seconds
    done = at + LANES * len(PATHS) * seconds
    return (
        f'{{"rangeKey":{{"S":"{range_key(SHARED, chunk // RANGE_SIZE)}"}},"itemKey":{{"S":"{item_key(chunk)}"}},'
        f'"chunk":{{"N":"{chunk}"}},"state":{{"S":"DELIVERED"}},"attempt":{{"N":"{1 + (chunk % 1000 == 0)}"}},'
        f'"phase":{{"N":"0"}},"manifestKey":{{"S":"manifest/part-00000.ndjson"}},"manifestStart":{{"N":"0"}},'
        f'"manifestEnd":{{"N":"300"}},"bytes":{{"N":"{chunk_bytes}"}},"files":{{"N":"{0 if chunk else entries}"}},'
        f'"planId":{{"S":"{builders.PLAN_ID}"}},'
        f'"digest":{{"S":"{digest(chunk)}"}},"pathId":{{"S":"{PATHS[chunk % len(PATHS)]}"}},'
        f'"lane":{{"N":"{chunk % LANES}"}},"startedAt":{{"N":"{at:.3f}"}},"deliveredAt":{{"N":"{done:.3f}"}}}}'
    )


def digest(entry: int) -> str:
    """Any 64 hex digits, the same for the same entry."""
    return blake2b(entry.to_bytes(8, "big"), digest_size=32).hexdigest()
