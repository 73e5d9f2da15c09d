"""The most that relays can carry, as a mixed-integer linear program that HiGHS solves: what schemes are judged by.

It shares no code with the planner but the map. Every route has a variable for whether it is used, one for its relays at
each stage, and one for its rate. A side of n relays carries rate * (1 - gain + gain * n) if the route is used, which is
linear in both.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations

import highspy

from lambdas.core.routes.network_map import NetworkMap


@dataclass(frozen=True)
class Optimum:
    """MB/s, and the most that it can be where the time was up before it was proven."""

    rate: float
    bound: float

    @property
    def proven(self) -> bool:
        """Whether nothing better is left."""
        return self.bound <= self.rate * (1 + 1e-6) + 1e-6


def every_route(network: NetworkMap, source: str, destination: str, most_stages: int = 4) -> Iterator[tuple[str, ...]]:
    """All simple paths of two stages or more."""
    third = [region for region in network.regions if region not in (source, destination)]
    for passed in range(most_stages - 1):
        for way in permutations(third, passed):
            regions = (source, *way, destination)
            if all(pair in network for pair in pairwise(regions)):
                yield regions


def optimum(
    network: NetworkMap,
    source: str,
    destination: str,
    most_relays: int,
    most_in_region: Mapping[str, int] | None = None,
    straight: float = 0.0,
    seconds: float = 60.0,
) -> Optimum:
    """Return the highest rate of link-disjoint routes with at most so many relays."""
    model = _model(seconds)
    by_link, by_region, all_rates, straight_rates = defaultdict(list), defaultdict(list), [], []
    for regions in every_route(network, source, destination):
        for last in (1, 0) if straight > 0 else (1,):
            used = model.addBinary()
            rate = model.addVariable(lb=0)
            relays = [model.addIntegral(lb=0, ub=most_relays) for _ in regions[: len(regions) - 1 + last]]
            for region, some in zip(regions, relays, strict=False):
                model.addConstr(some <= most_relays * used)
                model.addConstr(some >= used)
                by_region[region].append(some)
            for stage, pair in enumerate(pairwise(regions)):
                link = network[pair]
                by_link[pair].append(used)
                model.addConstr(rate <= link.rate * (1 - link.gain) * used + link.rate * link.gain * relays[stage])
                if stage + 1 < len(relays):
                    model.addConstr(
                        rate <= link.taken * (1 - link.gain) * used + link.taken * link.gain * relays[stage + 1]
                    )
            for end, some in ((source, relays[0]), *([(destination, relays[-1])] if last else [])):
                if end in network.inside:
                    model.addConstr(rate <= network.inside[end] * some)
            all_rates.append(rate)
            if not last:
                straight_rates.append(rate)
    if not all_rates:
        return Optimum(0.0, 0.0)
    for users in by_link.values():
        if len(users) > 1:
            model.addConstr(model.qsum(users) <= 1)
    model.addConstr(model.qsum([one for some in by_region.values() for one in some]) <= most_relays)
    for region, most in (most_in_region or {}).items():
        if by_region[region]:
            model.addConstr(model.qsum(by_region[region]) <= most)
    if straight_rates:
        model.addConstr(model.qsum(straight_rates) <= straight)
    model.maximize(model.qsum(all_rates))
    return _answer(model)


def _model(seconds: float) -> highspy.Highs:
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    model.silent()
    options: dict[str, str | float] = {"time_limit": seconds, "mip_rel_gap": 1e-7, "threads": 1, "random_seed": 1}
    for name, value in options.items():
        model.setOptionValue(name, value)
    return model


def _answer(model: highspy.Highs) -> Optimum:
    """Read the result; the solver refuses some of its own, whose rounding is off by more than it allows."""
    if model.getModelStatus() == highspy.HighsModelStatus.kSolveError:
        model.setOptionValue("presolve", "off")
        model.run()
    status, info = model.getModelStatus(), model.getInfo()
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
        raise RuntimeError(f"HiGHS: {model.modelStatusToString(status)}")
    return Optimum(info.objective_function_value, max(info.mip_dual_bound, info.objective_function_value))
