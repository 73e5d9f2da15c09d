"""A transfer in the pool's queue: what it asks for, and what people see of its turn."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, Region, TransferId
from lambdas.core.pool.queue import Class, Waiting
from lambdas.core.words import duration

# So that the wait costs a transfer that ends meanwhile a twentieth of its time at most.
_PART, _LEAST_SECONDS, _MOST_SECONDS = 20.0, 5.0, 900.0
LONGEST_SECONDS = 12 * 3600
"""Whoever has waited for so long takes what is free then, and goes on without the rest.

About 150 looks of nine events each, of the 25 000 of an execution (`bench/scale/history.py`).
"""


class QueuedTransfer(Document):
    """What is kept of a transfer that asks for leases; `until`: whoever has not asked again by then asks no more.

    `wanted_bytes`: what it still has to send. `seconds`: how long that is expected to take through the pool.
    `serves_since`: since it has leases; it then counts until `until`, its expected end.
    """

    transfer_id: TransferId
    tenant: str
    regions: list[Region] = Field(min_length=1)
    asked_at: float
    rank: Class = "normal"
    wanted_bytes: Count
    seconds: Annotated[float, Field(ge=0)]
    until: float
    serves_since: float | None = None

    @property
    def waiting(self) -> Waiting:
        """As the queue orders it."""
        return Waiting(self.transfer_id, self.tenant, self.asked_at, float(self.wanted_bytes), self.seconds, self.rank)


class PoolTurn(Document):
    """Attribute `poolTurn` of a transfer's record while it waits for leases.

    `position`: from 1, of so many that wait (`waiting`). `starts_at`: when its turn is expected, Unix seconds.
    """

    at: float
    position: Annotated[int, Field(ge=1)]
    waiting: Annotated[int, Field(ge=1)]
    starts_at: float

    @property
    def words(self) -> str:
        """What people see, after the state that it is in."""
        turn = duration(max(self.starts_at - self.at, 0.0))
        return f"place {self.position} of {self.waiting} in the pool's queue, its turn in about {turn}"


def seconds_until_next_look(asked_at: float, now: float) -> float:
    """How long a transfer waits until it asks again."""
    return min(max((now - asked_at) / _PART, _LEAST_SECONDS), _MOST_SECONDS)
