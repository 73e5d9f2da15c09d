import json

import pytest
from pydantic import ValidationError

from lambdas.core.chunks.digest_diff import Digest
from lambdas.core.chunks.file_list import Digests, FileEntry, Proof, lines, parts


def noted(*found: Digest, proof: Proof = "digest") -> Digests:
    digests = Digests(proof)
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


def test_of_a_checksum_no_more_is_shown_than_it_is() -> None:
    # What the daemons say of a file without bytes: its checksum is 0, and it is there all the same.
    empty = "4352432d36342f4e564d4500" + "0" * 40
    listing = [json.dumps({"path": "a", "size": 0, "kind": "file"}).encode()]
    (line,) = lines(listing, noted(Digest(0, empty), proof="crc64"))
    assert json.loads(line) == {"path": "a", "bytes": 0, "crc64": "0" * 16}
    assert FileEntry.model_validate_json(line).crc64 == "0" * 16


@pytest.mark.parametrize("proofs", [{}, {"digest": "ab" * 32, "crc64": "0" * 16}])
def test_a_file_has_one_proof(proofs: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="one of them"):
        FileEntry.from_document({"path": "a", "bytes": 0, **proofs})


def test_parts_hold_whole_lines() -> None:
    found = list(parts((b"x" * 9 + b"\n" for _ in range(25)), part_bytes=40))
    assert [len(part) for part in found] == [40] * 6 + [10]
    assert list(parts([b"longer than a part\n"], part_bytes=4)) == [b"longer than a part\n"]
    assert list(parts([])) == []
