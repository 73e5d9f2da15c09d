"""The list of every entry, of a million."""

import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from lambdas.core.chunks import entry_list
from lambdas.core.chunks.digest_diff import Digest
from lambdas.core.chunks.file_list import Digests, parts
from tests.chaos.extent import only_full

ENTRIES = 1_000_000
# 32 MB of digests and a part of 8 MB, twice while it is cut: the list has 127 MB.
MOST_KIB = 64 << 10


def written() -> tuple[int, int]:
    """Write the list of a million entries, half of them left out; its bytes, and KiB of memory that this took."""
    digests = Digests()
    for _ in digests.noting(Digest(entry, "a" * 64) for entry in range(0, ENTRIES, 2)):
        pass
    listing = (f'{{"path":"set/{entry:09d}","kind":"file","size":3}}'.encode() for entry in range(ENTRIES))
    skipped = (
        f'{{"entry":{entry},"kind":"file","reason":"source-changed"}}'.encode() for entry in range(1, ENTRIES, 2)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = entry_list.bounded(entry_list.sent(listing, digests, skipped), lambda: False)
    total = sum(map(len, parts(lines)))
    return total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@only_full
def test_a_million_entries_are_listed_in_bounded_memory() -> None:
    # The most that a process has ever had is measured in one that has done nothing else.
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        total, grown_kib = process.submit(written).result()
    assert total > 100_000_000
    assert grown_kib < MOST_KIB
