"""Moments of a transfer, counted and never timed: states that relays reach, chunks that are delivered. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

STATES = ("SPAWNED", "READY", "JOINED")
LAST_SHARE = 0.95
"""Of the chunks: after that the transfer is over before a command has reached the relay."""


@dataclass(frozen=True)
class Moment:
    """When the fleet has made so many changes of state, or when the chunk at this share of the plan is delivered."""

    victim: int
    changes: int | None = None
    share: float | None = None

    def __str__(self) -> str:
        return f"change {self.changes}" if self.changes else f"{self.share:.0%} of the chunks"


def moments(count: int, relays: int) -> list[Moment]:
    """`count` of them from the launch to the end; the relay to kill goes round.

    First each change of state of the fleet (launched, ready, joined), then evenly over the chunks up to `LAST_SHARE`.
    """
    changes = min(relays * len(STATES), count // 4)
    chunks = count - changes
    of_states = [round((number + 1) * relays * len(STATES) / changes) for number in range(changes)]
    return [
        *(Moment(number % relays, changes=change) for number, change in enumerate(of_states)),
        *(Moment(number % relays, share=LAST_SHARE * (number + 1) / chunks) for number in range(chunks)),
    ]


def changes_of(nodes: Iterable[Mapping[str, Any]]) -> int:
    """How many states the relays of a fleet have reached together; one that is gone had reached all."""
    return sum(STATES.index(node["state"]) + 1 if node["state"] in STATES else len(STATES) for node in nodes)
