"""Choices of routes and sizes: what they carry, which rules they break, and how they are repaired and grown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lambdas.core.routes.candidates import Candidate, Limits
from lambdas.core.routes.growth import ROUNDING
from lambdas.core.routes.knapsack import Picks

Kept = Mapping[int, int]
"""The step of each candidate that is used."""


@dataclass(frozen=True)
class Choice:
    """Candidates at sizes. `proven`: no other choice carries more."""

    picks: Picks
    rate: float
    relays: int
    proven: bool = True

    def or_better(self, other: "Choice") -> "Choice":
        """The one that carries more; of equal ones that with fewer relays, then with fewer routes."""
        if other.rate > self.rate * (1 + ROUNDING):
            return other
        equal = other.rate >= self.rate * (1 - ROUNDING)
        return other if equal and (other.relays, len(other.picks)) < (self.relays, len(self.picks)) else self


class Rules:
    """What candidates use of links, regions and the receiver."""

    def __init__(self, found: Sequence[Candidate], limits: Limits) -> None:
        self.found = found
        self.limits = limits
        self._stages = [{region: stage for stage, region in enumerate(one.regions)} for one in found]

    def in_region(self, picks: Picks, region: str) -> int:
        """Relays of all picks in a region."""
        return sum(self._in_region(place, step, region) for place, step in picks)

    def total(self, kept: Kept) -> tuple[float, int]:
        """MB/s and relays of a choice."""
        beside = straight = 0.0
        relays = 0
        for place, number in kept.items():
            step = self.found[place].steps[number]
            relays += step.count
            if self.found[place].straight:
                straight += step.rate
            else:
                beside += step.rate
        return min(beside + min(straight, self.limits.straight), self.limits.most_rate), relays

    def shared_links(self, picks: Picks) -> list[tuple[int, tuple[str, str]]]:
        """Links that two picks use, each with the first of its picks."""
        first: dict[tuple[str, str], int] = {}
        shared = []
        for place, _ in picks:
            for link in self.found[place].end_links:
                if link in first:
                    shared.append((first[link], link))
                first.setdefault(link, place)
        return shared

    def over_quota(self, picks: Picks) -> list[tuple[int, int]]:
        """For the picks that break one quota together: how many steps each may have if it is the one to give way."""
        for region, most in self.limits.most_in_region.items():
            using = [(place, step, self._in_region(place, step, region)) for place, step in picks]
            if self.in_region(picks, region) > most:
                return [
                    (place, next(few for few in range(step + 1) if self._in_region(place, few, region) >= used))
                    for place, step, used in using
                    if used
                ]
        return []

    def repaired(self, picks: Picks, allowed: Sequence[int], routes: int) -> Choice:
        """A choice that breaks no rule, made of the picks: kept or made smaller, then grown where a relay adds most."""
        kept: Kept = {}
        for place, step in sorted(picks, key=lambda pick: -self.found[pick[0]].steps[pick[1]].rate):
            sizes = ({**kept, place: size} for size in range(step, -1, -1))
            kept = next((larger for larger in sizes if self._fits(larger, routes)), kept)
        grown: Kept | None = kept
        while grown is not None:
            kept = grown
            grown = self._grown(kept, allowed, routes)
        for place in [*kept]:
            kept = self._trimmed(kept, place)
        return Choice(tuple(sorted(kept.items())), *self.total(kept))

    def _in_region(self, place: int, step: int, region: str) -> int:
        stage = self._stages[place].get(region)
        return 0 if stage is None else self.found[place].steps[step].plan.relays[stage]

    def _fits(self, kept: Kept, routes: int) -> bool:
        """Return whether a choice breaks no rule."""
        if len(kept) > routes or self.total(kept)[1] > self.limits.most_relays or self.shared_links((*kept.items(),)):
            return False
        return not self.limits.most_in_region or not self.over_quota((*kept.items(),))

    def _grown(self, kept: Kept, allowed: Sequence[int], routes: int) -> Kept | None:
        """The choice with one route more or larger, by the rate that each relay adds; None if nothing fits.

        It looks at all larger sizes, and not at the next one alone, which may add little before the one after it adds
        much.
        """
        rate, relays = self.total(kept)
        taken = Counter(link for place in kept for link in self.found[place].end_links)
        best, most = None, 0.0
        for place, candidate in enumerate(self.found):
            if place not in kept and any(link in taken for link in candidate.end_links):
                continue
            for size in range(kept.get(place, -1) + 1, allowed[place]):
                larger = {**kept, place: size}
                if not self._fits(larger, routes):
                    break
                new_rate, new_relays = self.total(larger)
                each = (new_rate - rate) / (new_relays - relays)
                if each > most * (1 + ROUNDING) and new_rate > rate * (1 + ROUNDING):
                    best, most = larger, each
        return best

    def _trimmed(self, kept: Kept, place: int) -> Kept:
        """The choice with one route as small as it can be, or left out, without a loss of rate."""
        least = self.total(kept)[0] * (1 - ROUNDING)
        others = {other: step for other, step in kept.items() if other != place}
        smaller: Iterable[Kept] = ({**others, place: step} for step in range(kept[place]))
        return next((fewer for fewer in (others, *smaller) if self.total(fewer)[0] >= least), kept)
