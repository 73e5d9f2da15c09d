"""The choice of routes and sizes that carry most together: a search that knows when nothing better is left.

A route is named by its place in the list of candidates, a size by its place among the candidate's steps. Two routes use
one link only if they leave the source, or reach the destination, by the same link: a route has three links at most, and
two routes that share the middle one share the other two. So routes that leave by one link form a group, of which one is
used at most. Routes that end in the receiver and routes that end in relays beside it are kept apart, since the receiver
limits the first.

Without regard to last links and quotas the best choice of each number of relays comes from a table (`knapsack.py`). Its
rate bounds everything that is possible. Where its choice breaks a rule, the search goes on in cases of which one holds
for every choice that breaks none, each without what was wrong. The case with the highest bound comes first, and the
search ends when no bound is above the best choice so far.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

from lambdas.core.routes.candidates import Candidate, Limits
from lambdas.core.routes.choice import Choice, Rules
from lambdas.core.routes.growth import ROUNDING
from lambdas.core.routes.knapsack import Picks, Size, Table
from lambdas.core.routes.route_plan import RoutePlan

# One case takes about half a millisecond. Most searches need fewer than ten; the limit bounds those with tight quotas.
MOST_CASES = 32
PRICE_ROUNDS = 8

Allowed = tuple[int, ...]
"""How many of its steps each candidate may use."""
Group = tuple[tuple[str, str], bool]
"""First link, and whether data goes straight to the receiver."""
Sizes = Mapping[Group, Sequence[Size]]


@dataclass(frozen=True)
class _Case:
    allowed: Allowed
    bound: float
    picks: Picks


class Search:
    """The best choice among the candidates within the limits."""

    def __init__(self, found: Sequence[Candidate], limits: Limits) -> None:
        self.found = found
        self.limits = limits
        self.rules = Rules(found, limits)
        groups: dict[Group, list[int]] = defaultdict(list)
        for place, candidate in enumerate(found):
            groups[candidate.first_link, candidate.straight].append(place)
        self.groups = dict(groups)
        self.sizes = self._sizes({})

    def best(self, most_routes: int | None = None) -> Choice:
        """Return the choice that carries most with the fewest relays, of at most so many routes."""
        routes = min(most_routes or len(self.groups), len(self.groups), self.limits.most_relays)
        order = count()
        first = self._case(tuple(len(candidate.steps) for candidate in self.found), routes)
        best = self.rules.repaired(first.picks, first.allowed, routes)
        prices, best = self._prices(first, best, routes)
        priced = self._sizes(prices)
        cases = [(-first.bound, next(order), first)]
        tried = 0
        while cases and -cases[0][0] > best.rate * (1 + ROUNDING) and tried < MOST_CASES:
            negative, _, case = heappop(cases)
            best = best.or_better(self.rules.repaired(case.picks, case.allowed, routes))
            for allowed in self._cases(case):
                tried += 1
                bound = -negative
                if prices:
                    bound = min(bound, self._bound(self._case(allowed, routes, priced), prices))
                if bound > best.rate * (1 + ROUNDING):
                    narrower = self._case(allowed, routes)
                    bound = min(bound, narrower.bound)
                    heappush(cases, (-bound, next(order), narrower))
        return replace(best, proven=not cases or -cases[0][0] <= best.rate * (1 + ROUNDING))

    def _prices(self, first: _Case, best: Choice, routes: int) -> tuple[dict[str, float], Choice]:
        """Prices of relays in regions whose quota limits, in MB/s, and the best choice that was met on the way.

        A relay that costs its price lowers what a choice is worth, and the unused part of a quota is worth its price.
        No choice that keeps the quotas loses by both, so the best worth is a bound as well: at good prices a lower one.
        """
        case, least = first, first.bound
        prices: dict[str, float] = {}
        found: dict[str, float] = {}
        for _ in range(PRICE_ROUNDS if self.limits.most_in_region else 0):
            over = {
                region: self.rules.in_region(case.picks, region) - most
                for region, most in self.limits.most_in_region.items()
            }
            steps = {region: more for region, more in over.items() if more > 0 or prices.get(region, 0.0) > 0}
            scale = sum(more * more for more in steps.values())
            gap = self._bound(case, prices) - best.rate
            if not scale or gap <= best.rate * ROUNDING:
                break
            prices = {region: max(prices.get(region, 0.0) + gap * more / scale, 0.0) for region, more in steps.items()}
            case = self._case(first.allowed, routes, self._sizes(prices))
            best = best.or_better(self.rules.repaired(case.picks, first.allowed, routes))
            if self._bound(case, prices) < least:
                least, found = self._bound(case, prices), prices
        return found, best

    def _bound(self, case: _Case, prices: Mapping[str, float]) -> float:
        """The most that a choice can carry, by its worth at these prices."""
        quotas = sum(price * self.limits.most_in_region[region] for region, price in prices.items())
        return min(case.bound + quotas, self.limits.most_rate)

    def _sizes(self, prices: Mapping[str, float]) -> Sizes:
        """Every size of the candidates of each group, worth its rate less the prices of its relays, smallest first."""
        return {
            group: sorted(
                (
                    Size(step.relays, step.rate - self._price(step.plan, prices), place, number)
                    for place in places
                    for number, step in enumerate(self.found[place].steps)
                ),
                key=lambda size: (size.relays, -size.rate),
            )
            for group, places in self.groups.items()
        }

    def _price(self, plan: RoutePlan, prices: Mapping[str, float]) -> float:
        if not prices:
            return 0.0
        return sum(prices.get(region, 0.0) * used for region, used in zip(plan.regions, plan.relays, strict=True))

    def _case(self, allowed: Allowed, routes: int, sizes: Sizes | None = None) -> _Case:
        """The best choice of one size in each group, whatever else it breaks, and its rate."""
        limits = self.limits
        rows = None if routes >= len(self.groups) else routes
        beside, straight = (self._table(sizes or self.sizes, allowed, last, rows) for last in (False, True))
        best = (0.0, 0, 0, 0, 0)
        for few, others in [(1, 1)] if rows is None else [(few, rows - few) for few in range(rows + 1)]:
            by_relays = beside.rates[few]
            for sent, taken in straight.rises(others):
                carried = min(taken, limits.straight)
                for total in range(sent, limits.most_relays + 1):
                    rate = min(by_relays[total - sent] + carried, limits.most_rate)
                    if rate > best[0] * (1 + ROUNDING) or (rate >= best[0] and total < best[1]):
                        best = (rate, total, sent, few, others)
        rate, total, sent, few, others = best
        return _Case(allowed, rate, beside.picks(few, total - sent) + straight.picks(others, sent))

    def _table(self, sizes: Sizes, allowed: Allowed, straight: bool, routes: int | None) -> Table:
        """The table of the groups that end in the receiver, or of those that end in relays."""
        groups = (
            [size for size in of_group if size.step < allowed[size.candidate]]
            for (_, ends_straight), of_group in sizes.items()
            if ends_straight == straight
        )
        return Table(groups, self.limits.most_relays, routes)

    def _cases(self, case: _Case) -> list[Allowed]:
        """Cases of which one holds for every choice that breaks no rule; none if the picks break none."""
        for place, link in self.rules.shared_links(case.picks):
            # The link belongs to the group of this pick, or it does not.
            one = self.found[place]
            users = {other for other, candidate in enumerate(self.found) if link in candidate.end_links}
            own = users.intersection(self.groups[one.first_link, one.straight])
            return [
                tuple(0 if other in gone else size for other, size in enumerate(case.allowed))
                for gone in (own, users - own)
            ]
        return [
            tuple(fewer if other == place else size for other, size in enumerate(case.allowed))
            for place, fewer in self.rules.over_quota(case.picks)
        ]
