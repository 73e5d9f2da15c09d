"""The life of a chunk: who may change its item, from which state and attempt, into what.

    PENDING(n) ── deliver ──> DELIVERED(n)
    PENDING(n) ── note-failure ──> PENDING(n), noted
    PENDING(n) ── retry ──> PENDING(n + 1)
    PENDING(n) ── give-up ──> FAILED(n)

Every change names the attempt that it comes from; DELIVERED and FAILED are final. So a change that comes twice, late
or out of order changes nothing. IN_FLIGHT is not stored: it is PENDING under the sender's lease of the range.
The first two are made by the daemon; `contracts/chunk-changes.json` holds both sides to one form.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lambdas.core.chunks.chunk import Chunk, ChunkState

ChangeName = Literal["deliver", "note-failure", "retry", "give-up"]
Writer = Literal["receiver", "sender", "retry policy"]


class Rule(NamedTuple):
    """One arrow of the diagram; `sets` are attributes beside state and attempt, by the item's own names."""

    writer: Writer
    target: ChunkState
    attempts_on: int
    sets: tuple[str, ...]


RULES: dict[ChangeName, Rule] = {
    "deliver": Rule("receiver", "DELIVERED", 0, ("digest", "pathId", "lane", "startedAt", "deliveredAt")),
    "note-failure": Rule("sender", "PENDING", 0, ("failedAttempt", "reason")),
    "retry": Rule("retry policy", "PENDING", 1, ("notBefore", "reason")),
    "give-up": Rule("retry policy", "FAILED", 0, ("reason",)),
}


@dataclass(frozen=True)
class Change:
    """A change of the item of a chunk in `attempt`; `values` by the item's own names, all that the rule sets."""

    name: ChangeName
    attempt: int
    values: dict[str, Any]

    def __post_init__(self) -> None:
        if set(self.values) != set(RULES[self.name].sets):
            raise ValueError(f"{self.name} sets {RULES[self.name].sets}, not {tuple(self.values)}")

    @property
    def document(self) -> dict[str, Any]:
        """The item's changed attributes, by its own names."""
        rule = RULES[self.name]
        state = {"state": rule.target} if rule.target != "PENDING" else {}
        attempt = {"attempt": self.attempt + rule.attempts_on} if rule.attempts_on else {}
        return {**state, **attempt, **self.values}


def retry(attempt: int, not_before: float, reason: str) -> Change:
    """Another attempt, not before a time (Unix time, s)."""
    return Change("retry", attempt, {"notBefore": not_before, "reason": reason})


def give_up(attempt: int, reason: str) -> Change:
    """The chunk is FAILED: nobody sends it again."""
    return Change("give-up", attempt, {"reason": reason})


def after(chunk: Chunk, change: Change) -> Chunk | None:
    """The item after the change; None where the chunk has moved on, which every writer takes as a normal answer."""
    if chunk.state != "PENDING" or chunk.attempt != change.attempt:
        return None
    return Chunk.from_document({**chunk.to_document(), **change.document})
