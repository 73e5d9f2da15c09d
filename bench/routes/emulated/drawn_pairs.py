"""Pairs of regions that are drawn from the measured map, with real bytes: the planned scheme beside as many relays in
pairs. Every relay has caps of its own, as the machines that were measured had.
"""

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bench.data_plane.bench import Bench
from bench.results import say
from bench.routes.changing import on_one_route
from bench.routes.emulated.regions import Regions
from bench.routes.emulated.runner import Runner
from bench.routes.measured_map import measured_map
from lambdas.core.routes.network_map import NetworkMap
from lambdas.core.routes.route_plan import RoutePlan, Scheme
from lambdas.core.routes.selection import select

RELAYS = 8
# MB/s of the widest link that is used.
WIDEST = 8.0
# Until all lanes carry.
FIRST_SECONDS = 3.0
SIDES = ("planned", "pairs")


@dataclass(frozen=True)
class Drawn:
    """Two regions, the map of them and of the third regions, and the schemes of both sides."""

    source: str
    destination: str
    network: NetworkMap
    schemes: dict[str, Scheme]

    @property
    def planned(self) -> float:
        """How many times as much the planned scheme should carry."""
        return self.schemes["planned"].rate(self.network) / self.schemes["pairs"].rate(self.network)

    @property
    def scale(self) -> float:
        """What makes the widest link as fast as it is here."""
        links = {link for scheme in self.schemes.values() for plan in scheme.routes for link in plan.links}
        return WIDEST / max(self.network.link(*link).rate for link in links)

    @property
    def words(self) -> str:
        """For people."""
        routes = [" > ".join(f"{r} × {n}" for r, n in zip(p.regions, p.relays, strict=True)) for p in self.routes]
        return "; ".join(routes)

    @property
    def routes(self) -> tuple[RoutePlan, ...]:
        """Of the planned scheme."""
        return self.schemes["planned"].routes


@dataclass(frozen=True)
class Carried:
    """MB/s of both sides once all lanes carry."""

    drawn: Drawn
    rates: dict[str, float]

    @property
    def ratio(self) -> float:
        """How many times as much the planned scheme carries."""
        return self.rates["planned"] / self.rates["pairs"]

    @property
    def shares(self) -> list[float]:
        """The measured rate of each side over its planned one."""
        drawn = self.drawn
        return [self.rates[side] / (one.rate(drawn.network) * drawn.scale) for side, one in drawn.schemes.items()]

    @property
    def error(self) -> float:
        """Share by which the measured ratio differs from the planned one."""
        return abs(self.ratio / self.drawn.planned - 1)


def draw(seed: int) -> Drawn:
    """The same for the same seed; pairs of regions between which third ones are of no use are left out."""
    whole, random = measured_map(), Random(seed)
    while True:
        source, destination = random.sample(whole.regions, 2)
        if (source, destination) not in whole:
            continue
        scheme = select(whole, source, destination, RELAYS)
        if any(len(plan.regions) > 2 for plan in scheme.routes):
            used = {region for plan in scheme.routes for region in plan.regions}
            return Drawn(
                source,
                destination,
                whole.among(used),
                {"planned": scheme, "pairs": on_one_route(whole, (source, destination), RELAYS)},
            )


def measure(bench: Bench, source: Path, drawn: Drawn, seconds: float) -> Carried:
    """Both sides at once, each in regions of its own."""
    with ExitStack() as stack:
        runners = {}
        for side, scheme in drawn.schemes.items():
            regions = Regions(stack, f"pairs{os.getpid()}", drawn.network.regions, whole_links=False)
            regions.hold(drawn.network, drawn.scale)
            own = replace(bench, work=bench.folder(side))
            runners[side] = Runner(stack, own, regions, source, (drawn.source, drawn.destination))
            runners[side].prepare(scheme)
        for side, scheme in drawn.schemes.items():
            runners[side].follow(scheme)
        time.sleep(FIRST_SECONDS)
        began = {side: (time.monotonic(), runner.arrived) for side, runner in runners.items()}
        time.sleep(seconds - FIRST_SECONDS)
        rates = {}
        for side, runner in runners.items():
            at, before = began[side]
            rates[side] = (runner.arrived - before) / 1e6 / (time.monotonic() - at)
            runner.check()
    return Carried(drawn, rates)


def most_mb(drawn: Drawn, seconds: float) -> float:
    """What the faster side moves."""
    return max(scheme.rate(drawn.network) for scheme in drawn.schemes.values()) * drawn.scale * seconds


def tell(seed: int, found: Carried) -> None:
    """One line about a pair of regions."""
    drawn = found.drawn
    parts = [
        f"{side} {found.rates[side]:.2f} of {scheme.rate(drawn.network) * drawn.scale:.2f} MB/s"
        for side, scheme in drawn.schemes.items()
    ]
    say(f"  seed {seed}: {drawn.words}: {', '.join(parts)}; {found.ratio:.3f} ×, planned {drawn.planned:.3f} ×")
