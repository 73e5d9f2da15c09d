"""The part of an earlier run's plan that is still to be moved."""

from collections.abc import Iterable
from typing import NamedTuple

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.retry_policy import GiveUp, after_failure


class Remainder(NamedTuple):
    """Entries of a plan that are not whole at the destination, their bytes, and how many are undelivered."""

    entries: int
    bytes: int
    undelivered: int


def remainder(chunks: Iterable[Chunk], plan_id: str) -> Remainder | None:
    """That of a plan's chunks, in order; None where one was given up, or will be, or is of another plan.

    A large file's parts follow each other, and only the last one counts as an entry (`files`).
    """
    entries = total = undelivered = held = 0
    whole = True
    for chunk in chunks:
        if chunk.plan_id != plan_id or chunk.state == "FAILED" or (chunk.awaits_policy and _ends(chunk)):
            return None
        if chunk.phase == 1:
            continue
        held += chunk.bytes
        if chunk.state != "DELIVERED":
            whole = False
            undelivered += chunk.bytes
        if chunk.files == 0:
            continue
        if not whole:
            entries += chunk.files
            total += held
        held, whole = 0, True
    return Remainder(entries, total, undelivered)


def _ends(chunk: Chunk) -> bool:
    return isinstance(after_failure(chunk.attempt, chunk.reason or ""), GiveUp)
