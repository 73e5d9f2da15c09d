"""`make bench-routes`: routes through third regions, planned on a measured map and in a network that changes."""

import argparse
import json
import sys
from pathlib import Path
from random import Random
from secrets import randbelow
from statistics import median
from typing import Any

from bench.results import OUT, Result, publish, say
from bench.routes import all_pairs
from bench.routes.changing import OURS, RELAYS, STRATEGIES, runs
from bench.routes.draws import question
from bench.routes.optimum import optimum
from bench.routes.shares import Shares
from lambdas.core.routes.selection import select

SERIES = OUT / "routes-series.json"
SEEDS = 20
LARGE_MAPS = 300
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25)


def large_maps(maps: int, random: Random) -> list[Result]:
    """Maps of up to ten regions and 24 relays that are drawn, of every kind, against the optimum."""
    shares = []
    for _ in range(maps):
        asked = question(random, most_regions=10, most_relays=24)
        limits = {"most_in_region": asked.most_in_region, "straight": asked.straight}
        best = optimum(asked.network, asked.source, asked.destination, asked.most_relays, **limits)
        if best.rate > 1e-5:
            scheme = select(asked.network, asked.source, asked.destination, asked.most_relays, least_gain=0.0, **limits)
            shares.append(scheme.rate(asked.network, asked.straight or float("inf")) / best.bound)
    found = Shares(shares)
    return [Result("drawn maps: mean rate over the optimum", found.mean, "x", 0.999, "higher", str(found))]


def figure_nine(gain: float, late: bool, seeds: list[int]) -> tuple[list[Result], dict[str, list[list[float]]]]:
    """The bars of Figure 9, and what each strategy moved."""
    found = runs(seeds, gain, RELAYS, late)
    totals = {name: [one[-1] for one in of_seeds] for name, of_seeds in found.items()}

    def over(other: str) -> list[float]:
        return [ours / its for ours, its in zip(totals[OURS], totals[other], strict=True)]

    case = f"figure 9, {'late' if late else 'at once'}, each further relay adds {gain:g}"
    results = [
        Result(f"{case}: over {name}, median", median(over(name)), "x", note=f"least {min(over(name)):.3f}")
        for name in STRATEGIES
        if name not in (OURS, "widest path, refreshed", "direct link")
    ]
    refreshed, pairs = over("widest path, refreshed"), over("direct link")
    return [
        Result(
            f"{case}: over the refreshed widest path, median",
            median(refreshed),
            "x",
            1.15,
            "higher",
            f"least {min(refreshed):.3f}",
        ),
        Result(f"{case}: over direct, least", min(pairs), "x", 0.98, "higher", f"median {median(pairs):.3f}"),
        *results,
    ], found


def main() -> int:
    """Simulate, and write results and what the plots show."""
    parser = argparse.ArgumentParser(prog="bench-routes")
    parser.add_argument("--seed", type=int, default=randbelow(2**32), help="of everything that is drawn")
    parser.add_argument("--quick", action="store_true", help="tries the harness; its numbers mean nothing")
    asked = parser.parse_args()
    say(f"seed {asked.seed}")
    random = Random(asked.seed)
    seeds = [random.randrange(2**32) for _ in range(SEEDS)]
    series: dict[str, Any] = {"seed": asked.seed, "seeds": seeds, "minutes": {}, "numbers": {}}
    results: list[Result] = []
    for gain in (1.0, 0.6):
        for late in (False, True):
            say(f"figure 9, gain {gain:g}, {'late' if late else 'at once'}")
            rows, found = figure_nine(gain, late, seeds)
            results += rows
            series["minutes"][f"{gain:g} {'late' if late else 'at once'}"] = found
    for relays in NUMBERS:
        totals = runs(seeds, 0.6, relays, late=False)
        series["numbers"][relays] = {name: median(one[-1] for one in of_seeds) for name, of_seeds in totals.items()}
    say("drawn maps")
    results += large_maps(20 if asked.quick else LARGE_MAPS, random)
    say("the measured map")
    rows, series["gains"] = all_pairs.measure(asked.quick, random)
    results += rows
    OUT.mkdir(parents=True, exist_ok=True)
    Path(SERIES).write_text(json.dumps(series) + "\n")
    arguments = f"--seed {asked.seed}{' --quick' if asked.quick else ''}"
    return publish("routes", results, f"make bench-routes ARGS='{arguments}'")


if __name__ == "__main__":
    sys.exit(main())
