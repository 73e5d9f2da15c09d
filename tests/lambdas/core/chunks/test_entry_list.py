"""What became of every entry, joined from lists that are never held."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator

from lambdas.core.chunks import entry_list
from lambdas.core.chunks.digest_diff import Digest
from lambdas.core.chunks.file_list import Digests, Proof, parts
from tests.paths import CONTRACTS

LINE = Draft202012Validator(json.loads((CONTRACTS / "entry-outcome.schema.json").read_text()))
A = "a" * 64


def lines(*documents: dict[str, Any]) -> list[bytes]:
    return [json.dumps(document).encode() for document in documents]


def listed(*paths: str, kind: str = "file") -> list[bytes]:
    return lines(*({"path": path, "kind": kind, "size": len(path)} for path in paths))


def digests(*entries: int, proof: Proof = "digest") -> Digests:
    found = Digests(proof)
    list(found.noting(Digest(entry, A) for entry in entries))
    return found


def read(found: Iterable[bytes]) -> list[dict[str, Any]]:
    documents = [json.loads(line) for line in found]
    for document in documents:
        LINE.validate(document)
    return documents


def test_what_has_a_digest_was_sent_and_what_has_none_says_why() -> None:
    skipped = lines(
        {"entry": 1, "kind": "file", "reason": "source-changed", "message": "size was 3"},
        {"entry": 3, "kind": "file", "reason": "destination-refused"},
    )
    found = read(entry_list.sent(listed("a", "bb", "c", "d", "e"), digests(0, 2), skipped))
    assert [(one["path"], one["outcome"], one.get("reason")) for one in found] == [
        ("a", "sent", None),
        ("bb", "refused", "source-changed"),
        ("c", "sent", None),
        ("d", "refused", "destination-refused"),
        ("e", "refused", "not-verified"),
    ]
    assert (found[0]["proof"], found[0]["digest"], found[1]["message"]) == ("digest", A, "size was 3")


def test_what_was_proved_by_a_checksum_says_so() -> None:
    found = read(entry_list.sent([*listed("a"), *listed("d", kind="directory")], digests(0, 1, proof="crc64"), []))
    assert [(one["proof"], one.get("crc64"), "digest" in one) for one in found] == [
        ("crc64", A[-16:], False),
        ("crc64", None, False),
    ]


def test_directories_have_a_proof_and_no_files_digest() -> None:
    (found,) = read(entry_list.sent(listed("set", kind="directory"), digests(0), []))
    assert (found["proof"], "digest" in found) == ("digest", False)


def test_directories_of_a_plan_without_chunks_are_as_they_should_be() -> None:
    found = read(entry_list.directories(listed("set", "set/deep", kind="directory")))
    assert {(one["outcome"], one["proof"]) for one in found} == {("equal", "size-time")}


def test_what_was_equal_is_named_by_the_whole_listing_with_its_proof() -> None:
    equal = lines({"entry": 1, "inode": 1, "changedNs": 2}, {"entry": 2, "inode": 1, "changedNs": 2, "digest": A})
    found = read(entry_list.equal(listed("a", "b", "c", "d"), equal))
    assert [(one["path"], one["proof"], one.get("digest")) for one in found] == [
        ("b", "size-time", None),
        ("c", "digest", A),
    ]


def test_what_was_left_alone_is_not_called_equal() -> None:
    there = lines({"entry": 0, "inode": 1, "changedNs": 2}, {"entry": 1, "inode": 1, "changedNs": 2, "leftAlone": True})
    found = read(entry_list.equal(listed("a", "b"), there))
    assert [(one["outcome"], one.get("reason"), one.get("proof")) for one in found] == [
        ("equal", None, "size-time"),
        ("skipped", "left-alone", None),
    ]


def test_what_the_request_leaves_out_is_skipped_and_what_nobody_could_look_at_refused() -> None:
    found = read(
        entry_list.unselected(
            lines({"path": "x", "reason": "excluded", "before": 0}, {"path": "y", "reason": "unreadable", "before": 0})
        )
    )
    assert [(one["outcome"], one["reason"]) for one in found] == [("skipped", "excluded"), ("refused", "unreadable")]


def test_extras_are_deleted_but_for_those_that_remain() -> None:
    remaining = lines({"path": "b", "reason": "changed"})
    found = read(entry_list.extras(listed("a", "b", "c"), remaining))
    assert [(one["path"], one["outcome"]) for one in found] == [("a", "deleted"), ("b", "refused"), ("c", "deleted")]


def test_last_line_says_how_many_there_are_and_whether_these_are_all() -> None:
    some = list(entry_list.extras(listed(*"abc"), []))
    assert read(entry_list.bounded(some, lambda: False))[-1] == {"end": True, "entries": 3, "complete": True}
    answers = iter([False, False, True])
    cut = read(entry_list.bounded(some * 1_000, lambda: next(answers)))
    assert (len(cut), cut[-1]) == (2_001, {"end": True, "entries": 2_000, "complete": False})


def test_memory_does_not_grow_with_the_list() -> None:
    def many(count: int) -> Iterator[bytes]:
        return (f'{{"path":"set/{n:09d}","kind":"file","size":3}}'.encode() for n in range(count))

    def peak(count: int) -> int:
        skipped = (f'{{"entry":{n},"kind":"file","reason":"source-changed"}}'.encode() for n in range(count))
        tracemalloc.start()
        for body in parts(entry_list.bounded(entry_list.sent(many(count), digests(), skipped), lambda: False), 100_000):
            assert body
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(20_000) < 1.2 * peak(5_000) < 2_000_000
