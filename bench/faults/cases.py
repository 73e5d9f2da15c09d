"""Which faults hit whom and when: all pairs of fault and party, of fault and moment, of party and number of pairs."""

import itertools
import random
from dataclasses import dataclass
from typing import Literal, NamedTuple

Party = Literal["sender", "receiver", "source-1-0", "destination-1-0", "cpt-retry-chunk"]
Moment = Literal["before the join", "after the join", "half", "near the end", "last chunk"]

ENDS: tuple[Party, ...] = ("sender", "receiver")
RELAYS: tuple[Party, ...] = ("source-1-0", "destination-1-0")
MOMENTS: tuple[Moment, ...] = ("before the join", "after the join", "half", "near the end", "last chunk")
PAIRS = (0, 1, 3)
CUT_SECONDS = 10.0
STALL_SECONDS = 20.0
REPLACED_SECONDS = 60.0
"""Nothing is planned with a machine that is gone; so long after it the transfer is over in every case."""

MINUTE_SECONDS = 60.0


@dataclass(frozen=True)
class Fault:
    """What happens, to whom it can, and what it may cost.

    `away_seconds`: for how long the party carries nothing. `allowed_seconds`: what it may cost beyond that.
    `is_waiting`: the party lives and waits, so no relay may lose its place by it, and no chunk an attempt.
    """

    name: str
    parties: tuple[Party, ...]
    away_seconds: float
    allowed_seconds: float
    is_waiting: bool = False


FAULTS = (
    Fault("killed", (*ENDS, *RELAYS), 2, 5),
    Fault("frozen", (*ENDS, *RELAYS), 10, 10),
    Fault("cut off", (*ENDS, *RELAYS), CUT_SECONDS, 10),
    Fault("hears nothing", (*ENDS, *RELAYS), CUT_SECONDS, 10),
    Fault("is not heard", (*ENDS, *RELAYS), CUT_SECONDS, 10),
    Fault("slow", (*ENDS, *RELAYS), CUT_SECONDS, 10),
    Fault("short of memory", (*ENDS, *RELAYS), CUT_SECONDS, 10),
    Fault("machine gone", RELAYS, REPLACED_SECONDS, 10),
    Fault("disk stalls", ("receiver",), STALL_SECONDS, 5, is_waiting=True),
    Fault("without AWS", (*ENDS, *RELAYS), STALL_SECONDS, 5, is_waiting=True),
    Fault("without credentials", (*ENDS, *RELAYS), 0, 5, is_waiting=True),
    Fault("clock an hour ahead", (*ENDS, *RELAYS), 0, 5, is_waiting=True),
    Fault("clock an hour behind", (*ENDS, *RELAYS), 0, 5, is_waiting=True),
    Fault("dies after its work", ("cpt-retry-chunk",), 0, 5),
)

# A disk or a table that is away for longer than any time limit.
LONG_FAULTS = (
    Fault("disk stalls", ("receiver",), MINUTE_SECONDS, 5, is_waiting=True),
    Fault("without AWS", ("receiver",), MINUTE_SECONDS, 5, is_waiting=True),
)


class Case(NamedTuple):
    """One run."""

    fault: Fault
    party: Party
    moment: Moment
    pairs: int

    def __str__(self) -> str:
        long = " for a minute" if self.fault in LONG_FAULTS else ""
        return f"{self.party} {self.fault.name}{long}, {self.moment}, p = {self.pairs}"


LONG = [Case(fault, "receiver", "half", 1) for fault in LONG_FAULTS]


def possible(case: Case) -> bool:
    """Whether there is such a party at such a moment."""
    return case.pairs > 0 or (case.party not in RELAYS and "join" not in case.moment)


def several(chance: random.Random) -> list[Case]:
    """One to four faults of one transfer, in the order of their moments."""
    pairs = chance.choice(PAIRS)
    every = [
        case
        for fault in FAULTS
        for party, moment in itertools.product(fault.parties, MOMENTS)
        if possible(case := Case(fault, party, moment, pairs))
    ]
    return sorted(chance.sample(every, chance.randint(1, 4)), key=lambda case: MOMENTS.index(case.moment))


def cover(most: int) -> list[Case]:
    """The first `most` cases of a list in which every two choices that can meet do so, each fault early on."""
    every = [
        case
        for fault in FAULTS
        for party, moment, pairs in itertools.product(fault.parties, MOMENTS, PAIRS)
        if possible(case := Case(fault, party, moment, pairs))
    ]
    left = {pair for case in every for pair in _pairs(case)}
    chosen: list[Case] = []
    while left and len(chosen) < most:
        best = max(every, key=lambda case: (len(left & _pairs(case)), -sum(case.fault == old.fault for old in chosen)))
        chosen.append(best)
        left -= _pairs(best)
    return chosen


def _pairs(case: Case) -> set[tuple[object, object]]:
    named = (case.fault.name, case.party, case.moment, case.pairs)
    return set(itertools.combinations(enumerate(named), 2))
