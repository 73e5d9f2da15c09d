"""Whole tables: each row that the estimate states after one transfer, against a transfer with so many pairs.

The first transfer runs with what `auto` chooses, on a deployment without a history, under the condition that its case
is named after. Then transfers with 0, 1, 2, 4 and 8 pairs run, and `auto` again. Each has a budget that leaves little
beyond what its row says. Only T_v is told to the deployment, as for first contacts.
"""

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.estimate.arithmetic import bill, regret
from bench.estimate.scenarios import START_SECONDS, Credit, Dip, Machine, Scenario
from bench.estimate.site import RELAY_TYPE, Site, relay_types, site
from bench.estimate.tariff import tariff
from bench.machine import workspace
from bench.results import Result, say
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.rows import SHOWN_FROM

PAIRS = (0, 1, 2, 4, 8)
FIRST_REGRET, LATER_REGRET = 0.10, 0.05
# Where the best takes so many times what a first contact costs beside (looking, then T_v), `FIRST_REGRET` holds.
LONG = 10.0
BOOT_SECONDS = 3.0
# Beyond the smallest budget that bears a row: a second estimate a moment later, and relays of a type that is a quarter
# dearer (two for 105 s and a minute more, $0.0014).
SPARE_OF_PAIR_USD, SPARE_USD = 0.002, 0.003
BURSTING, FIXED = ("t3.small", "t3.small"), ("c6i.16xlarge", "c6i.16xlarge")
SMALL_MB = 40


@dataclass(frozen=True)
class Table:
    """A scenario of which every row is run. `small_first`: MB that were moved before; `together`: so many at first."""

    scenario: Scenario
    small_first: int = 0
    together: int = 1

    @property
    def name(self) -> str:
        """That of its scenario."""
        return self.scenario.name


@dataclass(frozen=True)
class Ran:
    """One transfer: seconds of data time, as its row said just before and as it was; dollars of its budget."""

    pairs: int
    measured: float
    estimated: float
    low: float
    high: float
    billed_usd: float
    budget_usd: float

    @property
    def in_range(self) -> bool:
        """Whether it took as long as its row says."""
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        return f"p = {self.pairs}: {self.measured:.1f} s of {self.estimated:.1f} ({self.low:.1f} to {self.high:.1f})"


@dataclass
class Tried:
    """What came of a table; `looking` and `spawn`: seconds until relays were decided on, and until they had joined."""

    table: Table
    first: Ran
    looking: float
    spawn: float
    rows: list[Ran] = field(default_factory=list)
    again: Ran | None = None

    @property
    def best(self) -> float:
        """Seconds of the best number of pairs."""
        return min(row.measured for row in self.rows)

    @property
    def late(self) -> float:
        """Seconds that the first transfer took beyond the best."""
        return max(self.first.measured - self.best, 0.0)

    @property
    def late_at_most(self) -> float:
        """What not knowing may cost at first."""
        beside = self.looking + self.spawn
        return FIRST_REGRET * self.best if self.best >= LONG * beside else beside

    @property
    def later_regret(self) -> float:
        """How much longer what `auto` then chose takes than the best, as a share; medians of runs count."""
        if self.again is None:
            return 0.0
        seconds: dict[int, list[float]] = {}
        for one in (*self.rows, self.again):
            seconds.setdefault(one.pairs, []).append(one.measured)
        return regret(self.again.pairs, seconds)


def named(seed: int) -> list[Table]:
    """The cases; caps are the same for all pairs, and what cannot be seen is not drawn: times tell enough."""
    shift = (seed % 7 - 3) / 20  # of all rates, from -15 % to 15 %
    inter = round(6 * (1 + shift), 2)
    end, relay, large = Machine(inter, 80), Machine(inter, 60), Machine(inter, 150)
    full = Machine(inter, round(4 * inter, 1))

    def case(name: str, ends: Machine = end, size: int = 360, **more: Any) -> Scenario:
        kinds = {"end_types": BURSTING, **more}
        return Scenario(name, size, 8, ends, ends, relay, BOOT_SECONDS, measured_pairs=0, **kinds)

    return [
        Table(case("small-transfer-first"), small_first=SMALL_MB),
        Table(case("no-capacity-of-the-first-type", second_type="m6in.large")),
        Table(case("ends-that-do-not-burst", large, end_types=FIXED)),
        Table(case("network-that-dips", dip=Dip(8, 20, 0.2))),
        Table(case("two-transfers-at-once"), together=2),
        Table(case("ends-that-eight-pairs-fill", full)),
        Table(case("ends-whose-credits-end", Machine(inter, 2.5 * inter, Credit(40, 200)), 480)),
    ]


def run(table: Table) -> Tried:
    """One deployment without a history."""
    scenario = table.scenario
    say(f"{table.name}: {scenario.size} MB, ends {scenario.source}, relays {scenario.relay}")
    with workspace("cpt-table-") as work, site(scenario, work, BOOT_SECONDS + START_SECONDS) as place:
        # Twice as many VMs run on this machine as there are pairs: more of them would compete for its cores.
        place.allow(max(PAIRS))
        if table.small_first:
            report = place.small("small", table.small_first)
            say(f"  {table.small_first} MB: {report['seconds']['transfer']:.1f} s")
        names = [f"first-{number}" for number in range(1, table.together + 1)]
        tried = _first(table, place, names)
        for pairs in PAIRS:
            tried.rows.append(_move(place, table, f"fixed-{pairs}", pairs))
        tried.again = _move(place, table, "again", "auto")
        return tried


def _first(table: Table, place: Site, names: list[str]) -> Tried:
    before = place.estimate("auto")
    row = _row(before, before["chosenPairs"])
    # What is decided on the way may be the dearest row, and dearer than was known: the choice is to be free.
    budget = 2 * max(_budget(before, one["pairs"]) for one in before["rows"])
    reports, calls = place.counted_together(names, "auto", {"minimise": "time", "maxCostUsd": budget})
    each = {what: count / len(reports) for what, count in calls.items()}
    billed = max(_bill(place, table, report, each) for report in reports)
    report = reports[0]
    decisions = report.get("decisions", [])
    for one in decisions:
        say(f"  {one['pairs']} pairs after {one['afterSeconds']:.0f} s: {one['reason']}")
    first = _ran(report, decisions[-1]["pairs"] if decisions else row["pairs"], row, billed, budget)
    say(f"  first: {first}; ${billed:.4f} of ${budget:.4f}")
    looking = max((one["afterSeconds"] for one in decisions if one["pairs"]), default=0.0)
    joined = [node["joinedAt"] - node["requestedAt"] for node in report["nodes"] if "joinedAt" in node]
    return Tried(table, first, looking, median(joined) if joined else BOOT_SECONDS + START_SECONDS)


def _move(place: Site, table: Table, name: str, pairs: int | str) -> Ran:
    known = place.estimate(pairs)
    row = _row(known, known["chosenPairs"])
    say(f"  {name}: {row['pairs']} pairs without a budget: {known['reason']}")
    budget = _budget(known, row["pairs"])
    [report], calls = place.counted_together([name], pairs, {"minimise": "time", "maxCostUsd": budget})
    stated = report["estimate"]
    ran = _ran(report, row["pairs"], _row(stated, stated["chosenPairs"]), _bill(place, table, report, calls), budget)
    say(f"  {name}: {ran}; ${ran.billed_usd:.4f} of ${budget:.4f}; {stated['reason']}")
    return ran


def _bill(place: Site, table: Table, report: dict[str, Any], calls: dict[str, float]) -> float:
    charges = tariff(RELAY_TYPE, others=relay_types(table.scenario)[1:])
    return bill(report, calls, charges, left_bytes=place.left_bytes(report))


def _row(estimate: dict[str, Any], pairs: int) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in estimate["rows"] if row["pairs"] == pairs)
    return found


def _budget(stated: dict[str, Any], pairs: int) -> float:
    estimate = Estimate.from_document(stated)
    return round(needed(estimate.row(pairs), estimate.figures) + SPARE_USD + SPARE_OF_PAIR_USD * pairs, 4)


def _ran(report: dict[str, Any], pairs: int, row: dict[str, Any], billed: float, budget: float) -> Ran:
    """A row without a range says that it is known to `SHOWN_FROM` of its seconds."""
    seconds = row["seconds"]
    return Ran(
        pairs=pairs,
        measured=report["seconds"]["transfer"],
        estimated=seconds,
        low=row.get("secondsLow", seconds * (1 - SHOWN_FROM)),
        high=row.get("secondsHigh", seconds * (1 + SHOWN_FROM)),
        billed_usd=billed,
        budget_usd=budget,
    )


def results(tried: list[Tried]) -> list[Result]:
    """Four rows of each table, all with bars."""
    found = []
    for one in tried:
        every = [one.first, *one.rows, *([one.again] if one.again else [])]
        share = max(ran.billed_usd / ran.budget_usd for ran in every)
        best = f"best {one.best:.1f} s"
        found += [
            Result(
                f"table, {one.table.name}: rows within their range",
                sum(row.in_range for row in one.rows),
                f"of {len(one.rows)}",
                len(one.rows),
                "higher",
                note="; ".join(map(str, one.rows)),
            ),
            Result(
                f"table, {one.table.name}: first later than the best",
                one.late,
                "s",
                one.late_at_most if one.table.together == 1 else None,
                note=f"{one.first}; {best}; looked for {one.looking:.1f} s, relays joined after {one.spawn:.1f} s",
            ),
            Result(
                f"table, {one.table.name}: regret of auto later",
                100 * one.later_regret,
                "%",
                100 * LATER_REGRET,
                note=f"{one.again}; {best}",
            ),
            Result(f"table, {one.table.name}: largest share of a budget", 100 * share, "%", 100.0),
        ]
    return found
