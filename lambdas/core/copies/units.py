"""Rounds and units: how a listing is cut into what one function copies."""

from pydantic import Field

from lambdas.core.documents import Count, Document

FIRST_UNIT, LARGEST_UNIT = 250, 50_000
"""Requests of a unit in the first round, a page of the listing being four of them; each later round doubles them."""
FIRST_UNITS, MOST_UNITS = 4, 32
# A round of units that were full takes 32 functions a minute or more, so its listing must not take longer than these.
ROUND_SECONDS = 600.0
COPY_SECONDS = 600.0
"""A function may run for 900 s: what it does last is well over by then."""

FUNCTIONS_AT_ONCE = 5
"""That copy; one more lists. An account has ten at first, and the control plane needs some at any time."""


class Round(Document):
    """What the state machine holds: a round's number, how many units it has, and whether the listing is done.

    `width`: how many functions copy at once.
    """

    number: Count
    units: Count
    done: bool
    width: Count


class Position(Document):
    """Where the listing of a round has ended, and what it has counted so far; kept in the control bucket.

    `after`: the last key, without the prefix; None before the first.
    """

    round: Round
    after: str | None = None
    counts: dict[str, Count] = Field(default_factory=dict)
    seconds: float = 0.0


def requests_per_unit(number: int) -> int:
    """How large the units of a round are; rounds are counted from 1."""
    return int(min(FIRST_UNIT * 2 ** min(number - 1, 20), LARGEST_UNIT))


def units_of(number: int) -> int:
    """How many units a round has at most."""
    return FIRST_UNITS if number == 1 else MOST_UNITS


class Packing:
    """Cuts the objects of one round into units, in their order."""

    def __init__(self, number: int) -> None:
        self._least, self._most = requests_per_unit(number), units_of(number)
        self.unit, self._requests = 0, 0

    def is_next(self, requests: int) -> bool:
        """Count an object of so many requests; whether it begins another unit than the one before it."""
        begins = self._requests > 0 and self._requests + requests > self._least
        self.unit, self._requests = (self.unit + 1, 0) if begins else (self.unit, self._requests)
        self._requests += requests
        return begins

    @property
    def full(self) -> bool:
        """Whether the round has all its units."""
        return self.unit == self._most - 1 and self._requests >= self._least

    @property
    def count(self) -> int:
        """Units so far."""
        return self.unit + 1 if self._requests else 0
