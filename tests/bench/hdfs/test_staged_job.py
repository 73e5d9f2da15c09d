"""What is judged of a staged copy before anything is copied."""

from pathlib import Path
from typing import Any

import pytest

from bench.hdfs.staged_job import CHUNK_BYTES, StagedJob, StagingError, refuse_without_room, sizes_of

FOLDER = Path("/mnt/staging")
LISTING = """\
Found 2 items
drwxr-xr-x   - root supergroup          0 2026-11-30 10:00 /in/set
-rw-r--r--   2 root supergroup   12582912 2026-11-30 10:00 /in/set/a name with blanks
-rw-r--r--   2 root supergroup          0 2026-11-30 10:00 /in/set/empty
"""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"paths": ()}, r"paths: \(\); name one path"),
        ({"paths": ("in",)}, "paths: 'in'; must be an absolute path"),
        ({"paths": ("/",)}, "paths: "),
        ({"paths": ("/a/set", "/b/set")}, "paths: 'set' is the last name of two"),
        ({"into": "out"}, "into: 'out'; must be an absolute path"),
        ({"replication": 0}, "replication: 0; must be a whole number, 1 or more"),
        ({"bundle": "zip"}, "bundle: 'zip'; must be one of auto, tar, never"),
    ],
)
def test_a_wrong_job_is_refused_by_its_field(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        StagedJob(**{"paths": ("/in/set",), "into": "/out", **changes})


def test_small_files_are_bundled_where_that_is_left_to_the_driver() -> None:
    small, large = [10, CHUNK_BYTES - 1, 5 * CHUNK_BYTES], [10, CHUNK_BYTES, CHUNK_BYTES]
    auto, tar, never = (StagedJob(("/in",), "/out", bundle=bundle) for bundle in ("auto", "tar", "never"))
    assert [auto.is_bundled(sizes) for sizes in (small, large, [])] == [True, False, False]
    assert (tar.is_bundled(large), never.is_bundled(small)) == (True, False)


def test_sizes_are_those_of_files() -> None:
    assert sizes_of(LISTING) == [12_582_912, 0]
    with pytest.raises(StagingError, match="printed 'what is this'"):
        sizes_of("what is this\n")


@pytest.mark.parametrize(("is_bundled", "needed"), [(False, 100), (True, 200)])
def test_staging_has_room_for_the_files_and_with_tar_for_twice_as_much(is_bundled: bool, needed: int) -> None:
    refuse_without_room("source", FOLDER, needed, 100, is_bundled=is_bundled)
    with pytest.raises(StagingError, match=rf"source: /mnt/staging has {needed - 1} B free; {needed} B are needed"):
        refuse_without_room("source", FOLDER, needed - 1, 100, is_bundled=is_bundled)
