"""`make bench-routes`: routes through third regions, planned on a measured map and in a network that changes."""

import argparse
import json
import sys
from math import inf
from random import Random
from secrets import randbelow
from statistics import median, quantiles
from time import process_time
from typing import Any

from bench.results import OUT, Result, publish, say
from bench.routes import all_pairs
from bench.routes.changing import GAINS, OURS, RELAYS, SHARED, STRATEGIES, runs
from bench.routes.draws import question
from bench.routes.optimum import optimum
from bench.routes.shares import Shares
from lambdas.core.routes.selection import select

SERIES = OUT / "routes-series.json"
SEEDS = 20
LARGE_MAPS = 300
# At the least of all seeds for the direct link, at their median for the other. Links that are capped as a whole are the
# set-up of the bars; where each relay has a cap of its own, no scheme reaches the second one (docs/design/032).
BARS = {"direct link": 0.98, "widest path, refreshed": 1.15}
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25)


def large_maps(maps: int, random: Random) -> list[Result]:
    """Maps of up to ten regions and 24 relays that are drawn, of every kind, against the optimum."""
    shares, seconds = [], []
    for _ in range(maps):
        asked = question(random, most_regions=10, most_relays=24)
        ends = (asked.network, asked.source, asked.destination, asked.most_relays)
        best = optimum(*ends, asked.most_in_region, asked.straight)
        if best.rate > 1e-5:
            began = process_time()
            scheme = select(*ends, most_in_region=asked.most_in_region, straight=asked.straight, least_gain=0.0)
            seconds.append(process_time() - began)
            shares.append(scheme.rate(asked.network, asked.straight or inf) / best.bound)
    found = Shares(shares)
    return [
        Result("drawn maps: mean rate over the optimum", found.mean, "x", 0.998, "higher", str(found)),
        Result("drawn maps: processor time of one plan, median", 1000 * median(seconds), "ms"),
        Result(
            "drawn maps: processor time of one plan, 99 % within",
            1000 * quantiles(seconds, n=100)[-1],
            "ms",
            50,
            note=f"most {1000 * max(seconds):.0f} ms",
        ),
    ]


def figure_nine(gain: float, late: bool, seeds: list[int]) -> tuple[list[Result], dict[str, list[list[float]]]]:
    """The bars of Figure 9, and what each strategy moved."""
    found = runs(seeds, gain, RELAYS, late)
    totals = {name: [one[-1] for one in of_seeds] for name, of_seeds in found.items()}

    def over(other: str) -> list[float]:
        return [ours / its for ours, its in zip(totals[OURS], totals[other], strict=True)]

    kind = "capped links" if gain == SHARED else f"each further relay adds {gain:g}"
    case = f"figure 9, {kind}, {'late' if late else 'at once'}"
    bars = BARS if gain == SHARED else {} if late else {"direct link": BARS["direct link"]}
    results = []
    for name in STRATEGIES:
        if name != OURS:
            ratios = over(name)
            middle, least = median(ratios), min(ratios)
            at_worst = name == "direct link"
            results.append(
                Result(
                    f"{case}: over {name}, {'least' if at_worst else 'median'}",
                    least if at_worst else middle,
                    "x",
                    bars.get(name),
                    "higher",
                    f"median {middle:.3f}" if at_worst else f"least {least:.3f}",
                )
            )
    return results, found


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
    for gain in GAINS:
        for late in (False, True):
            say(f"figure 9, gain {gain:g}, {'late' if late else 'at once'}")
            rows, found = figure_nine(gain, late, seeds)
            results += rows
            series["minutes"][f"{gain:g} {'late' if late else 'at once'}"] = found
    for relays in NUMBERS:
        for gain in GAINS:
            totals = runs(seeds, gain, relays, late=False)
            medians = {name: median(one[-1] for one in of_seeds) for name, of_seeds in totals.items()}
            series["numbers"].setdefault(f"{gain:g}", {})[relays] = medians
    say("drawn maps")
    results += large_maps(20 if asked.quick else LARGE_MAPS, random)
    say("the measured map")
    rows, series["gains"] = all_pairs.measure(asked.quick, random)
    results += rows
    OUT.mkdir(parents=True, exist_ok=True)
    SERIES.write_text(json.dumps(series) + "\n")
    arguments = f"--seed {asked.seed}{' --quick' if asked.quick else ''}"
    return publish("routes", results, f"make bench-routes ARGS='{arguments}'")


if __name__ == "__main__":
    sys.exit(main())
