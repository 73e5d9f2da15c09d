"""`make bench-estimate`: what the estimator says of transfers on an emulated network, and what they then take."""

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median
from typing import Any

from bench.estimate import cold, tables
from bench.estimate.arithmetic import bill, percentile, regret, relative_error
from bench.estimate.cold import Cold
from bench.estimate.scenarios import NAMED, Scenario, generated
from bench.estimate.site import RELAY_TYPE, ScenarioError, Site, site
from bench.estimate.tables import Table
from bench.estimate.tariff import tariff
from bench.machine import unmet, workspace
from bench.results import Result, publish, say
from local.cloud import LocalCloudError

GENERATED = 8
TIME_BAR, COST_BAR, REGRET_BAR = 0.10, 0.05, 0.10
# A run of the same transfer differs by far less.
FAR = 1.25
QUICK = ("direct-100-mb", "two-pairs")


@dataclass
class Outcome:
    """What came of a scenario: seconds of data time, dollars. `low` and `high`: the range that the estimate states."""

    scenario: Scenario
    first: float
    estimated: float
    estimated_usd: float
    measured: float
    billed_usd: float
    low: float = 0.0
    high: float = inf
    recommended: int | None = None
    explored: dict[int, list[float]] = field(default_factory=dict)

    @property
    def time_error(self) -> float:
        """Of the estimate made after the earlier transfer."""
        return relative_error(self.estimated, self.measured)

    @property
    def in_range(self) -> bool:
        """Whether it took as long as the range of the estimate says."""
        return self.low <= self.measured <= self.high

    @property
    def cost_error(self) -> float:
        """Of the same estimate."""
        return relative_error(self.estimated_usd, self.billed_usd)

    @property
    def closer(self) -> bool:
        """Whether it is closer than the one made before anything was measured."""
        return abs(self.time_error) < abs(relative_error(self.first, self.measured))


def main(arguments: Sequence[str]) -> int:
    """Run the scenarios one after the other, publish."""
    options = parse(arguments)
    problems = unmet()
    for problem in problems:
        say(f"bench-estimate: {problem}")
    if problems:
        return 2
    say(f"seed {options.seed}: repeat with --seed {options.seed}")
    outcomes, contacts, tried, failures = [], [], [], []
    cases: list[Cold | Table | Scenario] = [*contacts_of(options), *tables_of(options), *chosen(options)]
    for one in cases:
        try:
            if isinstance(one, Cold):
                contacts.append(cold.run(one))
            elif isinstance(one, Table):
                tried.append(tables.run(one))
            else:
                outcomes.append(run(one, options.runs))
        except (ScenarioError, LocalCloudError, TimeoutError) as error:
            say(f"  failed: {error}")
            failures.append(Result(one.name, 0, "measured", 1, "higher", f"failed: {error}"))
    command = f"python -m bench.estimate --seed {options.seed}"
    results = [*map(row, outcomes), *summary(outcomes), *cold.results(contacts), *tables.results(tried), *failures]
    return publish("estimate", results, command)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m bench.estimate", description=__doc__)
    parser.add_argument("--scenarios", type=lambda text: text.split(","), help="by name; all by default")
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(1_000_000), help=f"of the {GENERATED} generated ones"
    )
    parser.add_argument("--runs", type=int, default=3, help="with each number of pairs, where all are run")
    parser.add_argument("--quick", action="store_true", help="two scenarios and no more: tries the harness")
    options = parser.parse_args(arguments)
    known = [scenario.name for scenario in (*NAMED, *generated(options.seed, GENERATED))]
    known += [contact.name for contact in cold.named(options.seed)]
    known += [table.name for table in tables.named(options.seed)]
    if unknown := [name for name in options.scenarios or () if name not in known]:
        parser.error(f"{', '.join(unknown)}: no such scenario; there are: {', '.join(known)}")
    return options


def contacts_of(options: argparse.Namespace) -> list[Cold]:
    """The first contacts that the options name."""
    every = [] if options.quick else cold.named(options.seed)
    return [one for one in every if options.scenarios is None or one.name in options.scenarios]


def tables_of(options: argparse.Namespace) -> list[Table]:
    """The tables that the options name."""
    every = [] if options.quick else tables.named(options.seed)
    return [one for one in every if options.scenarios is None or one.name in options.scenarios]


def chosen(options: argparse.Namespace) -> list[Scenario]:
    """The scenarios that the options name."""
    if options.quick:
        return [replace(scenario, explored=None) for scenario in NAMED if scenario.name in QUICK]
    scenarios = [*NAMED, *generated(options.seed, GENERATED)]
    return [one for one in scenarios if options.scenarios is None or one.name in options.scenarios]


def row_of(estimate: dict[str, Any], pairs: int) -> dict[str, Any]:
    """The row of so many pairs: beyond 8 not every number has one."""
    found: dict[str, Any] = next(row for row in estimate["rows"] if row["pairs"] == pairs)
    return found


def run(scenario: Scenario, runs: int) -> Outcome:
    """Estimate, measure with a smaller transfer, estimate again, run."""
    expected = scenario.seconds(scenario.pairs)
    say(f"{scenario.name}: {scenario.size} MB, p = {scenario.pairs}; by the caps {expected:.1f} s")
    with workspace("cpt-estimate-") as work, site(scenario, work) as place:
        first = row_of(place.estimate(scenario.pairs), scenario.pairs)["seconds"]
        place.measure()
        recommended = None
        if scenario.explored is not None:
            recommended = place.estimate("auto", scenario.explored)["chosenPairs"]
        report, calls = place.counted("run", scenario.pairs)
        estimated = row_of(report["estimate"], scenario.pairs)
        if scenario.links:
            say(f"  {ways(report)}")
        charges = tariff(RELAY_TYPE, in_zones=scenario.in_zones, third=scenario.regions[2:])
        outcome = Outcome(
            scenario,
            first=first,
            estimated=estimated["seconds"],
            low=estimated.get("secondsLow", estimated["seconds"]),
            high=estimated.get("secondsHigh", estimated["seconds"]),
            estimated_usd=estimated["costUsd"],
            measured=report["seconds"]["transfer"],
            billed_usd=bill(report, calls, charges, place.lent, place.left_bytes(report)),
            recommended=recommended,
        )
        say(f"  {note(outcome)}")
        if scenario.explored is not None:
            outcome.explored = explore(place, scenario.explored, runs)
        return outcome


def explore(place: Site, most: int, runs: int) -> dict[int, list[float]]:
    """Seconds with every number of pairs, in turn, so that whatever slows the machine meets all of them.

    One that is far from the best at first is not run again: it cannot be the best.
    """
    seconds: dict[int, list[float]] = {pairs: [] for pairs in range(most + 1)}
    for number in range(runs):
        for pairs in contenders(seconds):
            seconds[pairs].append(place.move(f"explore-{pairs}-{number}", pairs)["seconds"]["transfer"])
            say(f"  p = {pairs}: {seconds[pairs][-1]:.1f} s")
    return seconds


def contenders(seconds: Mapping[int, list[float]]) -> list[int]:
    """Those that may still turn out the best."""
    best = min((runs[0] for runs in seconds.values() if runs), default=inf)
    return [pairs for pairs, runs in seconds.items() if not runs or runs[0] <= FAR * best]


def ways(report: Mapping[str, Any]) -> str:
    """Where a report says the bytes went."""
    found = [f"{'-'.join(way['regions'])} {way['relays']} relays {way['share']:.0%}" for way in report["routes"]]
    return ", ".join(found)


def note(outcome: Outcome) -> str:
    """The figures behind a row."""
    one = outcome.scenario
    return (
        f"{one.size} MB in {one.files} file{'s' if one.files > 1 else ''}, p = {one.pairs}: estimated "
        f"{outcome.estimated:.1f} s, measured {outcome.measured:.1f} s (before any history {outcome.first:.1f} s); "
        f"${outcome.estimated_usd:.4f} of ${outcome.billed_usd:.4f}, {outcome.cost_error:+.1%}"
    )


def row(outcome: Outcome) -> Result:
    """A scenario's own row; no bar, since that is on the 90th percentile."""
    return Result(outcome.scenario.name, 100 * outcome.time_error, "% off", note=note(outcome))


def summary(outcomes: list[Outcome]) -> list[Result]:
    """The rows with bars."""
    if not outcomes:
        return []
    costs = [abs(outcome.cost_error) for outcome in outcomes]
    regrets = [
        Result(
            f"regret, {one.scenario.name}",
            100 * regret(one.recommended, one.explored),
            "%",
            100 * REGRET_BAR,
            note=f"p = {one.recommended} of { ({p: round(median(s), 1) for p, s in one.explored.items()}) } s",
        )
        for one in outcomes
        if one.recommended is not None
    ]
    cost = Result("largest error of the cost", 100 * max(costs), "%", 100 * COST_BAR)
    return [*_errors_of_time(outcomes), cost, *regrets]


def _errors_of_time(outcomes: list[Outcome]) -> list[Result]:
    """Where no transfer has met the limit of the ends nothing tells it: then the stated range is held against."""
    met = [outcome for outcome in outcomes if not outcome.scenario.ends_unmet]
    unmet_ends = [outcome.in_range for outcome in outcomes if outcome.scenario.ends_unmet]
    found = []
    if met:
        errors, closer = [abs(outcome.time_error) for outcome in met], [outcome.closer for outcome in met]
        found += [
            Result("p90 of the time's error", 100 * percentile(errors, 0.9), "%", 100 * TIME_BAR),
            Result("second estimate closer than the first", 100 * sum(closer) / len(met), "%", 100, "higher"),
        ]
    if unmet_ends:
        share, note = 100 * sum(unmet_ends) / len(unmet_ends), f"{sum(unmet_ends)} of {len(unmet_ends)}"
        found.append(Result("time within the range where nothing met the ends", share, "%", 100, "higher", note))
    return found


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
