"""Which regions' relays reach each other by private addresses: a route must lead to each from the other."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, pairwise, permutations

from lambdas.core.documents import MAX_STAGES
from lambdas.core.fleet.launch_plan import Subnet

Border = tuple[str, str]
_MOST_NAMED = 4


def apart(places: Mapping[str, Sequence[Subnet]], ends: Collection[str]) -> list[Border]:
    """Return the two regions of each border that relays cannot cross, in the order of `places`.

    A relay may be in any subnet of its region, so every one needs a route to every one of the other region, and that
    one a route back. The border between the two `ends` is not looked at: a transfer proves its direct path itself.
    """
    borders = [pair for pair in combinations(places, 2) if not set(pair) <= set(ends)]
    return [
        (one, other)
        for one, other in borders
        if not all(here.reaches(there) and there.reaches(here) for here in places[one] for there in places[other])
    ]


def is_between(region: str, ends: tuple[str, str], third: Collection[str], lacking: Collection[Border]) -> bool:
    """Return whether a third region is on any way between the `ends` whose borders relays can cross."""
    closed = {frozenset(border) for border in lacking}
    ways = (
        (ends[0], *passed, ends[1])
        for count in range(1, MAX_STAGES - 1)
        for passed in permutations(third, count)
        if region in passed
    )
    return any(all(frozenset(border) not in closed for border in pairwise(way)) for way in ways)


def in_words(lacking: Sequence[Border], joined_by: str) -> str:
    """E.g. `no peering with routes both ways joins eu-central-1 with us-west-2`. `joined_by`: as deployments say."""
    kind = "transit gateway" if joined_by == "transit-gateway" else "peering"
    named = [f"{one} with {other}" for one, other in lacking[:_MOST_NAMED]]
    if more := len(lacking) - len(named):
        named[-1] += f" and {more} other pair{'s' if more > 1 else ''} of regions"
    return f"no {kind} with routes both ways joins {', '.join(named)}"
