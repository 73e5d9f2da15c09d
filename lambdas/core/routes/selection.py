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


def best_scheme(found: Sequence[Candidate], limits: Limits, least_gain: float) -> Scheme:
    """Return the scheme of `select`, of candidates that were listed for as many relays or more."""
    search = Search(found, limits)
    best = _fewest_routes(search, _best(search), least_gain)
    steps = sorted(
        (found[place].steps[step] for place, step in best.picks), key=lambda step: (-step.rate, step.plan.regions)
    )
    return Scheme(tuple(step.plan for step in steps))


def _best(search: Search) -> Choice:
    """The choice that carries most, and no less than with fewer relays: a search that was cut short may miss that."""
    best = search.best()
    if best.proven or search.limits.most_relays <= 1:
        return best
    fewer = Search(search.found, replace(search.limits, most_relays=search.limits.most_relays - 1))
    return best.or_better(_best(fewer))


def _fewest_routes(search: Search, best: Choice, least_gain: float) -> Choice:
    for routes in range(1, len(best.picks)) if least_gain > 0 else ():
        fewer = search.best(routes)
        if fewer.rate * (1 + least_gain) >= best.rate * (1 - ROUNDING):
            return fewer
    return best
