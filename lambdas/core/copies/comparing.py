"""Whether an object must be copied: both listings and what was noted, side by side."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from lambdas.core.copies.listed import Listed, Noted, order
from lambdas.core.request.replacing import Overwrite


class Verdict(Enum):
    """What becomes of an object of the source."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    LEFT_ALONE = "left-alone"


class Found(NamedTuple):
    """One key of the source, with what there is of it elsewhere.

    `same`: whether checksums say that both have the same bytes; None where nobody has asked for them.
    """

    source: Listed
    there: Listed | None
    noted: Noted | None = None
    same: bool | None = None


def side_by_side(source: Iterator[Listed], there: Iterator[Listed], noted: Iterator[Noted]) -> Iterator[Found]:
    """Each object of the source with its like; all three come in the order of their keys, and none is held."""
    other, note = next(there, None), next(noted, None)
    for one in source:
        key = order(one.key)
        while other is not None and order(other.key) < key:
            other = next(there, None)
        while note is not None and order(note.key) < key:
            note = next(noted, None)
        yield Found(
            one,
            other if other is not None and other.key == one.key else None,
            note if note is not None and note.key == one.key else None,
        )


def judge(found: Found, overwrite: Overwrite, *, all_again: bool = False) -> Verdict:
    """What is to be done with it; `all_again`: whatever it looks like."""
    if found.there is None:
        return Verdict.NEW
    if all_again:
        return Verdict.CHANGED
    same = is_same(found.source, found.there, found.noted) if found.same is None else found.same
    if same:
        return Verdict.SAME
    may_replace = overwrite == "always" or (overwrite == "if-newer" and found.source.modified > found.there.modified)
    return Verdict.CHANGED if may_replace else Verdict.LEFT_ALONE


def is_same(source: Listed, there: Listed, noted: Noted | None) -> bool:
    """Whether what the destination has is a copy of just this.

    By what was noted: the source is as it was then, and the destination has the copy that S3 made. Where nothing was,
    by size and time: as many bytes, written after the source's. An ETag is compared with itself alone: it is the MD5 of
    some objects only.
    """
    if source.size != there.size:
        return False
    if noted is not None:
        return (noted.size, noted.etag, noted.modified, noted.there) == (
            source.size,
            source.etag,
            source.modified,
            there.etag,
        )
    # In whole seconds: what was written in the second of the copy may have come after it.
    return int(there.modified) > int(source.modified)
