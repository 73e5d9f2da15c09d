"""The choice of a scheme: routes and relays that carry most within the limits (docs/design/032)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from lambdas.core.documents import MAX_STAGES
from lambdas.core.routes.candidates import Candidate, Limits, candidates
from lambdas.core.routes.choice import Choice
from lambdas.core.routes.growth import NO_QUOTAS, ROUNDING
from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import Scheme
from lambdas.core.routes.search import Search

LEAST_GAIN = 0.05


def select(
    network: NetworkMap,
    source: str,
    destination: str,
    most_relays: int,
    *,
    most_in_region: Mapping[str, int] = NO_QUOTAS,
    least_gain: float = LEAST_GAIN,
    most_usd_per_gb: float = inf,
    most_rate: float = inf,
    straight: float = 0.0,
    most_stages: int = MAX_STAGES,
) -> Scheme:
    """Return the scheme that carries most with at most so many relays; empty if no route can be had.

    Each of its relays is needed for its rate. It has the fewest routes for which the best of all schemes carries at
    most `least_gain` more: every route needs rules, launches and probes of its own. The other limits are those of
    `candidates.Limits`.
    """
    limits = Limits(most_relays, most_in_region, most_usd_per_gb, most_rate, straight, most_stages)
    return best_scheme(candidates(network, source, destination, limits), limits, least_gain)


def schemes(
    network: NetworkMap,
    source: str,
    destination: str,
    most_relays: int,
    *,
    most_in_region: Mapping[str, int] = NO_QUOTAS,
    least_gain: float = LEAST_GAIN,
    most_usd_per_gb: float = inf,
    most_rate: float = inf,
    straight: float = 0.0,
    most_stages: int = MAX_STAGES,
) -> list[Scheme]:
    """Return the schemes to choose among by time and dollars, by number of relays and then by rate.

    For every number of relays there is the one of `select`, and those that it would return without the dearest routes.
    A scheme is left out if another one carries as much with as few relays for as few dollars per GB.
    """
    limits = Limits(most_relays, most_in_region, most_usd_per_gb, most_rate, straight, most_stages)
    found = candidates(network, source, destination, limits)
    chosen: set[Scheme] = set()
    while found:
        row = {
            best_scheme(found, replace(limits, most_relays=relays), least_gain) for relays in range(1, most_relays + 1)
        }
        chosen |= row
        dearest = max(route.usd_per_gb(network) for scheme in row for route in scheme.routes)
        found = [candidate for candidate in found if candidate.usd_per_gb < dearest * (1 - ROUNDING)]
    worth = {
        scheme: (scheme.relays, -scheme.rate(network, straight or inf), scheme.usd_per_gb(network))
        for scheme in sorted(chosen, key=lambda scheme: [route.regions for route in scheme.routes])
        if scheme.routes
    }
    return _undominated(worth)


def _undominated(worth: Mapping[Scheme, tuple[int, float, float]]) -> list[Scheme]:
    """Those that no other one equals or beats in all three respects; less is better in each."""
    kept: list[Scheme] = []
    for scheme, its in sorted(worth.items(), key=lambda item: item[1]):
        if not any(
            all(one <= other + ROUNDING for one, other in zip(worth[better], its, strict=True)) for better in kept
        ):
            kept.append(scheme)
    return kept


def best_scheme(found: Sequence[Candidate], limits: Limits, least_gain: float) -> Scheme:
    """Return the scheme of `select`, of candidates that were listed for as many relays or more."""
    search = Search(found, limits)
    best = _fewest_routes(search, search.best(), least_gain)
    steps = sorted(
        (found[place].steps[step] for place, step in best.picks), key=lambda step: (-step.rate, step.plan.regions)
    )
    return Scheme(tuple(step.plan for step in steps))


def _fewest_routes(search: Search, best: Choice, least_gain: float) -> Choice:
    for routes in range(1, len(best.picks)) if least_gain > 0 else ():
        fewer = search.best(routes)
        if fewer.rate * (1 + least_gain) >= best.rate * (1 - ROUNDING):
            return fewer
    return best
