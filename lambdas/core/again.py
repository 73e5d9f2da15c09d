"""Whether an execution may go on with a transfer that an earlier one has run, and with its plan."""

from collections.abc import Iterable
from typing import NamedTuple

from lambdas.core.chunk import Chunk
from lambdas.core.policy import GiveUp, after_failure
from lambdas.core.transfer import AcceptedTransfer

# Of the numbers that nine digits have for chunks, each run takes 2.56 million.
MAX_RUNS = 390


def differences(before: AcceptedTransfer, now: AcceptedTransfer) -> list[str]:
    """What must be as it was, and is not, one line each: which machines, which paths."""
    was, is_ = before.request, now.request
    pairs: list[tuple[str, object, object]] = [
        ("$.source.instanceId", was.source.instance_id, is_.source.instance_id),
        ("$.source.paths", was.source.paths, is_.source.paths),
        ("$.destination.instanceId", was.destination.instance_id, is_.destination.instance_id),
        ("$.destination.path", was.destination.path, is_.destination.path),
    ]
    return [
        f"{where}: {found!r} was {known!r} when '{before.transfer_id}' began; "
        "resume it as it was, or give this transfer another name"
        for where, known, found in pairs
        if known != found
    ]


class Rest(NamedTuple):
    """What a plan has not brought to its end: entries that are not whole, their bytes, and how many are undelivered."""

    entries: int
    bytes: int
    undelivered: int


def rest(chunks: Iterable[Chunk], plan_id: str) -> Rest | None:
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
    return Rest(entries, total, undelivered)


def _ends(chunk: Chunk) -> bool:
    return isinstance(after_failure(chunk.attempt, chunk.reason or ""), GiveUp)
