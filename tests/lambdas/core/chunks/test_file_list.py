import json

from lambdas.core.chunks.digest_diff import Digest
from lambdas.core.chunks.file_list import Digests, lines, parts


def noted(*found: Digest) -> Digests:
    digests = Digests()
    assert list(digests.noting(found)) == list(found)
    return digests


def test_digests_are_kept_in_any_order_and_absent_ones_told() -> None:
    digests = noted(Digest(70_000, "0a" * 32), Digest(3, "b0" * 32))
    assert [digests.of(entry) for entry in (3, 70_000, 0, 69_999, 70_001)] == ["b0" * 32, "0a" * 32, None, None, None]


def test_listing_lines_without_a_digest_are_no_files() -> None:
    entries = (("d", 0, "directory"), ("d/a", 5, "file"), ("d/b", 7, "file"), ("d/l", 0, "symlink"))
    listing = [json.dumps({"path": name, "size": size, "kind": kind}).encode() for name, size, kind in entries]
    found = noted(Digest(0, "cd" * 32), Digest(1, "ab" * 32), Digest(3, "ef" * 32))
    assert list(lines(listing, found)) == [b'{"path":"d/a","bytes":5,"digest":"' + b"ab" * 32 + b'"}\n']


def test_parts_hold_whole_lines() -> None:
    found = list(parts((b"x" * 9 + b"\n" for _ in range(25)), part_bytes=40))
    assert [len(part) for part in found] == [40] * 6 + [10]
    assert list(parts([b"longer than a part\n"], part_bytes=4)) == [b"longer than a part\n"]
    assert list(parts([])) == []
