"""Schemes for every pair of regions of the measured map, beside relay pairs on the direct link with as many relays."""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from random import Random
from statistics import mean, median, quantiles

from bench.results import Result, say
from bench.routes.algorithm_one import algorithm_one
from bench.routes.measured_map import CLOUDS, measured_map, priced, within
from bench.routes.optimum import optimum
from bench.routes.shares import Shares
from lambdas.core.routes.candidates import Limits, candidates
from lambdas.core.routes.growth import growth
from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.selection import LEAST_GAIN, best_scheme

RELAYS = (4, 8, 16, 24)
WORTH_IT = 1.15
PARTS = 16

Pair = tuple[str, str]


@dataclass(frozen=True)
class Outcome:
    """One pair of regions with so many relays; rates in MB/s, dollars per GB; None where no price is listed, or
    Algorithm 1 was not asked."""

    pair: tuple[str, str]
    relays: int
    rate: float
    direct: float
    usd: float | None
    direct_usd: float | None
    algorithm_one: float | None

    @property
    def gain(self) -> float:
        """Rate over that of pairs."""
        return self.rate / self.direct


def wider(network: NetworkMap) -> float:
    """Share of the pairs with a path through one third region that is `WORTH_IT` times as wide as the direct link."""
    found = []
    for (source, destination), link in network.items():
        through = (
            min(network[source, third].width, network[third, destination].width)
            for third in network.regions
            if (source, third) in network and (third, destination) in network
        )
        found.append(max(through, default=0.0) >= WORTH_IT * link.width)
    return mean(found)


def outcomes(network: NetworkMap, numbers: Sequence[int], step: int = 1) -> list[Outcome]:
    """Plan for every `step`-th pair, in two processes. Algorithm 1 is slow on large maps and is asked about thirty."""
    pairs = sorted(network)[::step]
    printed = set(pairs[:: max(len(pairs) // 30, 1)])
    parts = [pairs[start::PARTS] for start in range(PARTS)]
    with ProcessPoolExecutor(2) as processes:
        found = processes.map(partial(_outcomes, network, numbers, printed), parts)
    return [outcome for part in found for outcome in part]


def _outcomes(
    network: NetworkMap, numbers: Sequence[int], printed: Collection[Pair], pairs: Iterable[Pair]
) -> list[Outcome]:
    listed = priced()
    found = []
    for source, destination in pairs:
        limits = Limits(max(numbers), {}, inf, inf, 0.0, 4)
        possible = candidates(network, source, destination, limits)
        direct = list(growth(network, (source, destination), max(numbers)))
        for relays in numbers:
            scheme = best_scheme(possible, replace(limits, most_relays=relays), LEAST_GAIN)
            links = {link for route in scheme.routes for link in route.links}
            found.append(
                Outcome(
                    (source, destination),
                    relays,
                    scheme.rate(network),
                    max(size.rate for size in direct if size.relays <= relays),
                    scheme.usd_per_gb(network) if links <= listed else None,
                    network[source, destination].usd_per_gb if (source, destination) in listed else None,
                    algorithm_one(network, source, destination, relays).rate(network)
                    if (source, destination) in printed
                    else None,
                )
            )
    return found


def rows(name: str, found: Iterable[Outcome], numbers: Sequence[int]) -> list[Result]:
    """What third regions bring, by number of relays."""
    results = []
    for relays in numbers:
        some = [one for one in found if one.relays == relays]
        gains = [one.gain for one in some]
        worth = [one for one in some if one.gain >= WORTH_IT]
        dollars = [one.usd - one.direct_usd for one in worth if one.usd is not None and one.direct_usd is not None]
        more = f"{median(dollars):.3f} dollars per GB more (median)" if dollars else "no prices"
        tail = quantiles(gains, n=20)[-1]
        printed = [one.algorithm_one / one.direct for one in some if one.algorithm_one is not None]
        behind = f"behind pairs on {100 * mean(gain < 1 for gain in printed):.0f} % of {len(printed)}"
        case = f"{name}, {relays} relays"
        results += [
            Result(f"{case}: pairs with a gain of {WORTH_IT} or more", 100 * len(worth) / len(some), "%", note=more),
            Result(f"{case}: mean gain", mean(gains), "x", note=f"median {median(gains):.3f}, 5 % above {tail:.2f}"),
            Result(f"{case}: smallest gain", min(gains), "x", bar=1 - 1e-9, better="higher"),
            Result(f"{case}: Algorithm 1, mean gain", mean(printed), "x", note=behind),
        ]
    return results


def against_optimum(name: str, network: NetworkMap, sample: int, random: Random) -> list[Result]:
    """Schemes over the optimum on all regions of the map, for pairs that are drawn."""
    shares, unproven = [], 0
    for source, destination in random.sample(sorted(network), sample):
        relays = random.choice(RELAYS)
        limits = Limits(relays, {}, inf, inf, 0.0, 4)
        scheme = best_scheme(candidates(network, source, destination, limits), limits, 0.0)
        best = optimum(network, source, destination, relays, seconds=20)
        unproven += not best.proven
        shares.append(scheme.rate(network) / best.bound)
    found = Shares(shares)
    note = f"{found}; {unproven} not proven within 20 s: their bound counts"
    return [Result(f"{name}: worst rate over the optimum", found.worst, "x", bar=0.97, better="higher", note=note)]


def measure(quick: bool, random: Random) -> tuple[list[Result], dict[str, list[float]]]:
    """All rows, and the gains that the plot shows."""
    network = measured_map()
    results: list[Result] = []
    gains: dict[str, list[float]] = {}
    scopes = [("all", network), *((cloud, within(network, cloud)) for cloud in CLOUDS)]
    for name, scope in scopes:
        say(f"  {name}: {len(scope)} pairs of {len(scope.regions)} regions")
        results.append(
            Result(f"{name}: pairs with a path {WORTH_IT} x as wide through one region", 100 * wider(scope), "%")
        )
        found = outcomes(scope, RELAYS, step=40 if quick else 1)
        results += rows(name, found, RELAYS)
        gains |= {f"{name}, {relays}": [one.gain for one in found if one.relays == relays] for relays in RELAYS}
    say("  with a gain of 0.7 for each further relay")
    less = outcomes(within(measured_map(0.7), "aws"), (16,), step=40 if quick else 1)
    results += rows("aws, each further relay adds 0.7", less, (16,))
    say("  against the optimum")
    results += against_optimum("aws", within(network, "aws"), 3 if quick else 24, random)
    results += against_optimum("aws, gain 0.7", within(measured_map(0.7), "aws"), 2 if quick else 12, random)
    return results, gains
