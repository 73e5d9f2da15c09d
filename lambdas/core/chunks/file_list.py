"""The list of files with their digests: listing and digests joined, a line a file, whatever their order."""

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lambdas.core.chunks.digest_diff import Digest
from lambdas.core.documents import Count, Document

# A part is an object of the control bucket.
PART_BYTES = 8 << 20
_WIDTH = 32
# Of a checksum: the end of what the ends say in place of a digest.
_CRC_HEX = 16


# What the ends have agreed by: BLAKE3, or CRC-64/NVME.
Proof = Literal["digest", "crc64"]


class FileEntry(Document):
    """Contract `file-entry`; `path` as in the listing: relative to the destination, percent-encoded."""

    path: Annotated[str, Field(pattern=r"^([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$")]
    bytes: Count
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    crc64: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None

    @model_validator(mode="after")
    def _has_one_proof(self) -> Self:
        if (self.digest is None) == (self.crc64 is None):
            raise ValueError("digest and crc64: one of them is given")
        return self


class Digests:
    """Whole-file digests by entry, 32 bytes each: ten million take 320 MB. All are of one `proof`."""

    def __init__(self, proof: Proof = "digest") -> None:
        self.proof = proof
        self._all = bytearray()

    def noting(self, digests: Iterable[Digest]) -> Iterator[Digest]:
        """Hand on what comes, and remember it."""
        for found in digests:
            end = (found.entry + 1) * _WIDTH
            if len(self._all) < end:
                self._all.extend(bytes(end - len(self._all)))
            self._all[end - _WIDTH : end] = bytes.fromhex(found.digest)
            yield found

    def of(self, entry: int) -> str | None:
        """None for an entry without a digest: it did not arrive."""
        found = self._all[entry * _WIDTH : (entry + 1) * _WIDTH]
        return found.hex() if any(found) else None

    def shown(self, digest: str) -> dict[str, str]:
        """A file's digest as people see it: by its own name, and of a checksum no more than that."""
        return {self.proof: digest[-_CRC_HEX:] if self.proof == "crc64" else digest}


def lines(listing: Iterable[bytes], digests: Digests) -> Iterator[bytes]:
    """A `file-entry` line for each file of the listing that has a digest, in its order; entries count from 0."""
    for entry, line in enumerate(listing):
        digest = digests.of(entry)
        # Links and directories have digests too: most lines are files, and need not be parsed to be told.
        if digest is not None and (listed := json.loads(line))["kind"] == "file":
            found = {"path": listed["path"], "bytes": listed["size"], **digests.shown(digest)}
            yield json.dumps(found, separators=(",", ":")).encode() + b"\n"


def parts(entries: Iterable[bytes], part_bytes: int = PART_BYTES) -> Iterator[bytes]:
    """Lines put together to parts of about `part_bytes`."""
    buffer = bytearray()
    for line in entries:
        if buffer and len(buffer) + len(line) > part_bytes:
            yield bytes(buffer)
            buffer.clear()
        buffer += line
    if buffer:
        yield bytes(buffer)
