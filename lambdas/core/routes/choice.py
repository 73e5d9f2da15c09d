"""Choices of routes and sizes: what they carry, which rules they break, and how they are repaired and grown."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lambdas.core.routes.candidates import Candidate, Limits
from lambdas.core.routes.growth import ROUNDING
from lambdas.core.routes.knapsack import Picks

Kept = Mapping[int, int]
"""The step of each candidate that is used."""
Pair = tuple[str, str]


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
    """What candidates use of links, regions and the receiver.

    All of it is read once, because the search asks for it many thousand times.
    """

    def __init__(self, found: Sequence[Candidate], limits: Limits) -> None:
        self.limits = limits
        self.relays = [[step.relays for step in one.steps] for one in found]
        self.rates = [[step.rate for step in one.steps] for one in found]
        self.straight = [one.straight for one in found]
        self.links = [one.end_links for one in found]
        # Relays of each step in the regions that have a quota and that the candidate leads through.
        self.uses = [
            {
                region: [step.plan.relays[one.regions.index(region)] for step in one.steps]
                for region in limits.most_in_region
                if region in one.regions
            }
            for one in found
        ]

    def in_region(self, picks: Iterable[tuple[int, int]], region: str) -> int:
        """Relays of all picks in a region that has a quota."""
        return sum(self.uses[place][region][step] for place, step in picks if region in self.uses[place])

    def total(self, kept: Kept) -> tuple[float, int]:
        """MB/s and relays of a choice."""
        beside, straight, relays = self._sums(kept)
        return self._together(beside, straight), relays

    def shared_links(self, picks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, Pair]]:
        """Links that two picks use, each with the first of its picks."""
        first: dict[Pair, int] = {}
        for place, _ in picks:
            for link in self.links[place]:
                if link in first:
                    yield first[link], link
                first.setdefault(link, place)

    def over_quota(self, picks: Picks) -> list[tuple[int, int]]:
        """For the picks that break one quota together: how many steps each may have if it is the one to give way."""
        for region, most in self.limits.most_in_region.items():
            if self.in_region(picks, region) > most:
                using = [(place, step) for place, step in picks if self.in_region([(place, step)], region)]
                counts = [(place, self.uses[place][region], step) for place, step in using]
                return [(place, bisect_left(used, used[step])) for place, used, step in counts]
        return []

    def repaired(self, picks: Picks, allowed: Sequence[int], routes: int) -> Choice:
        """A choice that breaks no rule, made of the picks: kept or made smaller, then grown where a relay adds most."""
        kept: Kept = {}
        for place, step in sorted(picks, key=lambda pick: -self.rates[pick[0]][pick[1]]):
            sizes = ({**kept, place: size} for size in range(step, -1, -1))
            kept = next((larger for larger in sizes if self._fits(larger, routes)), kept)
        grown: Kept | None = kept
        while grown is not None:
            kept = grown
            grown = self._grown(kept, allowed, routes)
        for place in [*kept]:
            kept = self._trimmed(kept, place)
        return Choice(tuple(sorted(kept.items())), *self.total(kept))

    def _sums(self, kept: Kept) -> tuple[float, float, int]:
        """MB/s of routes that end in relays, MB/s of those that end in the receiver, and relays."""
        rates = [(self.straight[place], self.rates[place][step]) for place, step in kept.items()]
        relays = sum(self.relays[place][step] for place, step in kept.items())
        return sum(rate for last, rate in rates if not last), sum(rate for last, rate in rates if last), relays

    def _together(self, beside: float, straight: float) -> float:
        return min(beside + min(straight, self.limits.straight), self.limits.most_rate)

    def _fits(self, kept: Kept, routes: int) -> bool:
        """Return whether a choice breaks no rule."""
        return (
            len(kept) <= routes
            and self.total(kept)[1] <= self.limits.most_relays
            and not any(self.shared_links(kept.items()))
            and all(self.in_region(kept.items(), region) <= most for region, most in self.limits.most_in_region.items())
        )

    def _grown(self, kept: Kept, allowed: Sequence[int], routes: int) -> Kept | None:
        """The choice with one route more or larger, by the rate that each relay adds; None if nothing fits.

        It looks at all larger sizes, and not at the next one alone, which may add little before the one after it adds
        much.
        """
        sums = beside, straight, relays = self._sums(kept)
        rate = self._together(beside, straight)
        most = rate * ROUNDING
        taken = {link for place in kept for link in self.links[place]}
        left = {
            region: quota - self.in_region(kept.items(), region) for region, quota in self.limits.most_in_region.items()
        }
        best: tuple[int, int] | None = None
        for place, links in enumerate(self.links):
            size = kept.get(place, -1)
            if size < 0 and (len(kept) >= routes or not taken.isdisjoint(links)):
                continue
            beside, straight, relays = (
                sums if size < 0 else self._sums({one: kept[one] for one in kept if one != place})
            )
            room = {
                region: left[region] + (used[size] if size >= 0 else 0) for region, used in self.uses[place].items()
            }
            for larger in range(size + 1, allowed[place]):
                count, more = relays + self.relays[place][larger], self.rates[place][larger]
                if count > self.limits.most_relays:
                    break
                if room and any(self.uses[place][region][larger] > most_here for region, most_here in room.items()):
                    break
                last = self.straight[place]
                reached = self._together(beside + (0.0 if last else more), straight + (more if last else 0.0))
                each = (reached - rate) / (count - sums[2])
                if each > most * (1 + ROUNDING):
                    best, most = (place, larger), each
        return {**kept, best[0]: best[1]} if best else None

    def _trimmed(self, kept: Kept, place: int) -> Kept:
        """The choice with one route as small as it can be, or left out, without a loss of rate."""
        least = self.total(kept)[0] * (1 - ROUNDING)
        others = {other: step for other, step in kept.items() if other != place}
        smaller: Iterable[Kept] = ({**others, place: step} for step in range(kept[place]))
        return next((fewer for fewer in (others, *smaller) if self.total(fewer)[0] >= least), kept)
