"""The list of every entry of a transfer and what became of it: streams joined line by line, nothing of them is kept."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, get_args

from lambdas.core.chunks.file_list import Digests
from lambdas.core.chunks.skipped import SkipReason

Outcome = Literal["sent", "equal", "skipped", "deleted", "refused"]
# What of the source can be moved by another transfer, once its trouble is over.
FAILED_REASONS = frozenset({*get_args(SkipReason), "unreadable", "not-verified"})
# How often the clock is asked.
_LINES_AT_ONCE = 1_000


def sent(listing: Iterable[bytes], digests: Digests, skipped: Iterable[bytes]) -> Iterator[bytes]:
    """What was planned: entries count from 0 in `listing`; `skipped` names some of them, in the same order."""
    left_out = _Ahead(skipped)
    for entry, line in enumerate(listing):
        listed, problem, digest = json.loads(line), left_out.of(entry), digests.of(entry)
        if digest is not None:
            of_file = digests.shown(digest) if listed["kind"] == "file" else {}
            yield _line(listed, "sent", proof=digests.proof, **of_file)
        elif problem is not None:
            yield _line(listed, "refused", reason=problem["reason"], message=problem.get("message"))
        else:
            yield _line(listed, "refused", reason="not-verified")


def directories(listing: Iterable[bytes]) -> Iterator[bytes]:
    """What a plan without chunks lists: directories that are as they should be, sent only where something else is."""
    for line in listing:
        yield _line(json.loads(line), "equal", proof="size-time")


def equal(listing: Iterable[bytes], found: Iterable[bytes]) -> Iterator[bytes]:
    """What a comparison `found` at the destination or left alone, by its number in the whole listing, in that order."""
    there = _Ahead(found)
    for entry, line in enumerate(listing):
        same = there.of(entry)
        if same is not None and same.get("leftAlone"):
            yield _line(json.loads(line), "skipped", reason="left-alone")
        elif same is not None:
            digest = same.get("digest")
            yield _line(json.loads(line), "equal", proof="digest" if digest else "size-time", digest=digest)


def unselected(found: Iterable[bytes]) -> Iterator[bytes]:
    """What the request leaves out; what could not even be looked at was refused."""
    for line in found:
        entry = json.loads(line)
        outcome: Outcome = "refused" if entry["reason"] == "unreadable" else "skipped"
        yield _line(entry, outcome, reason=entry["reason"])


def extras(confirmed: Iterable[bytes], remaining: Iterable[bytes]) -> Iterator[bytes]:
    """What only the destination had: removed, or among those that remain, which come in the same order."""
    still_there = (json.loads(line) for line in remaining)
    rest = next(still_there, None)
    for line in confirmed:
        entry = json.loads(line)
        if rest is not None and rest["path"] == entry["path"]:
            yield _line(entry, "refused", reason=rest["reason"], message=rest.get("message"))
            rest = next(still_there, None)
        else:
            yield _line(entry, "deleted")


def bounded(lines: Iterable[bytes], is_late: Callable[[], bool]) -> Iterator[bytes]:
    """The lines, and one that says how many they are and whether these are all: they stop once it `is_late`."""
    count, complete = 0, True
    for line in lines:
        if count % _LINES_AT_ONCE == 0 and is_late():
            complete = False
            break
        yield line
        count += 1
    yield _written({"end": True, "entries": count, "complete": complete})


def _line(entry: dict[str, Any], outcome: Outcome, **more: str | None) -> bytes:
    found = {"path": entry["path"], "outcome": outcome}
    if "kind" in entry:
        found |= {"kind": entry["kind"], "bytes": entry.get("size", 0)}
    return _written(found | {key: value for key, value in more.items() if value is not None})


def _written(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


class _Ahead:
    """Documents with an `entry`, in its order: each is asked for once, and one at a time is held."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._rest = (json.loads(line) for line in lines)
        self._next = next(self._rest, None)

    def of(self, entry: int) -> dict[str, Any] | None:
        """The document of this entry; None where it has none."""
        while self._next is not None and self._next["entry"] < entry:
            self._next = next(self._rest, None)
        if self._next is None or self._next["entry"] > entry:
            return None
        found: dict[str, Any] = self._next
        self._next = next(self._rest, None)
        return found
