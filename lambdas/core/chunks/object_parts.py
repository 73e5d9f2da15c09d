"""The size of chunks where they become parts of objects: a chunk of a large file is a part, and S3 takes so many."""

import json
from functools import partial

from lambdas.core.chunks.plan import MIB, ListedEntry, SizeCheck, any_size
from lambdas.core.ends.bucket import MOST_PART_BYTES, MOST_PARTS
from lambdas.core.errors import SurveyProblem
from lambdas.core.request.bucket_rules import LEAST_CHUNK_MIB
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.visible import visible

LEAST_BYTES = LEAST_CHUNK_MIB * MIB
# Where sizes are not known yet: an object in 10 000 of these has 625 GiB.
UNKNOWN_BYTES = 64 * MIB
# The largest power of two that a part may have: so an object has 39 TiB at most.
LARGEST_BYTES = 1 << (MOST_PART_BYTES.bit_length() - 1)
# A range comes at some 85 MB/s, a part goes so fast, and a link of 10 Gbit/s is to be full.
AT_ONCE = 16
# A part is in memory until it has arrived, and each lane has one: 16 of what is usual, and four of larger ones.
USUAL_BYTES = 16 * MIB
IN_MEMORY_BYTES, LEAST_AT_ONCE = AT_ONCE * USUAL_BYTES, 4
# What a request may say.
_MOST_REQUESTED_BYTES = 1024 * MIB


def become_parts(transfer: AcceptedTransfer) -> bool:
    """Return whether chunks of this transfer's large files are parts of objects."""
    return transfer.request.destination.kind == "bucket"


def lanes(transfer: AcceptedTransfer, usual: int, part_bytes: int = USUAL_BYTES) -> int:
    """Lanes to begin with: each has one range or part at a time, which goes at a seventh of what a flow carries."""
    if become_parts(transfer):
        return min(max(IN_MEMORY_BYTES // part_bytes, LEAST_AT_ONCE), AT_ONCE)
    return max(usual, AT_ONCE) if transfer.request.has_bucket else usual


def usual_bytes(transfer: AcceptedTransfer, usual: int) -> int:
    """Bytes of a chunk where no number of parts speaks for larger ones, and the request asks for none."""
    return min(usual, USUAL_BYTES) if become_parts(transfer) and transfer.request.chunk_size_mib is None else usual


def part_bytes(usual: int, largest: int) -> int:
    """Bytes of a part of the largest file: what is usual, or the next power of two in which it has few enough."""
    found = max(usual, LEAST_BYTES)
    while largest > found * MOST_PARTS and found < LARGEST_BYTES:
        found *= 2
    return found


def check_of(transfer: AcceptedTransfer, chunk_bytes: int) -> SizeCheck:
    """The check of each file whether it may be cut into chunks of this size; raises SurveyProblem."""
    return partial(_refuse_larger, chunk_bytes) if become_parts(transfer) else any_size


def _refuse_larger(chunk_bytes: int, entry: ListedEntry, size: int) -> None:
    if size <= chunk_bytes * MOST_PARTS:
        return
    needed = part_bytes(chunk_bytes, size)
    mib, few = chunk_bytes // MIB, f"{MOST_PARTS:,}"
    if size > needed * MOST_PARTS:
        why = f"an object has {few} parts of {LARGEST_BYTES // MIB} MiB at most; leave it out"
    elif needed <= _MOST_REQUESTED_BYTES:
        why = f"in parts of {mib} MiB it would have more than {few}; write {needed // MIB} as $.chunkSizeMiB"
    else:
        why = f"in parts of {mib} MiB it would have more than {few}; leave $.chunkSizeMiB out"
    raise SurveyProblem(f"$.source.paths: '{visible(json.loads(entry.line)['path'])}' has {size} bytes: {why}")
