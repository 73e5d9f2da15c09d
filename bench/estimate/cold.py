"""First contact: machines of which nobody has measured anything, and networks whose law the estimator does not know.

`auto` runs first, on a deployment without a history, then with fixed numbers of pairs, then `auto` again, which knows
what all of these have taught. Only T_v is told to the deployment: emulated machines boot some ten times faster than
AWS's, so a second here stands for `EMULATED` there, for the transfer and for what it takes to decide alike. That is
harsh: reports, of which a decision takes two, come each two seconds on AWS too.
"""

import random
import time
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from bench.estimate.arithmetic import bill, relative_error
from bench.estimate.scenarios import START_SECONDS, Credit, Machine, Scenario
from bench.estimate.site import RELAY_TYPE, site
from bench.estimate.tariff import tariff
from bench.machine import workspace
from bench.results import Result, say

SPAWN_SECONDS = 90.0
FIRST_REGRET, LATER_REGRET = 0.10, 0.05
# Of emulated time: a shorter transfer is over before a decision on the way can pay.
LONG_SECONDS = 200.0
BOOT_SECONDS = 8.0
EMULATED = SPAWN_SECONDS / (BOOT_SECONDS + START_SECONDS)
# AWS publishes 16 to 625 MB/s of it, which all caps here lie between.
END_TYPES = ("t3.small", "t3.small")
# Above the first estimate's cost. The meter holds back 105 s of each relay, whatever the scale of time: a bound that
# binds would be ten times as tight here.
SPARE_USD, TIGHT_USD = 0.5, 0.03


@dataclass(frozen=True)
class Cold:
    """A first contact; `fixed`: numbers of pairs that `auto` is held against.

    `rest`: seconds between two transfers, until credits are full again. `tight`: `maxCostUsd` binds, so `auto` is held
    against nothing.
    """

    scenario: Scenario
    fixed: tuple[int, ...]
    rest: float = 0.0
    tight: bool = False

    @property
    def name(self) -> str:
        """That of its scenario."""
        return self.scenario.name


@dataclass
class Contact:
    """What came of one; seconds of data time, dollars. `low` and `high`: the range that the first estimate stated."""

    cold: Cold
    low: float
    high: float
    first: float
    first_pairs: int
    estimated: float
    estimated_usd: float
    billed_usd: float
    budget_usd: float
    again: float
    again_estimated: float
    fixed: dict[int, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the best fixed number of pairs."""
        return min(self.fixed.values(), default=inf)

    def regret(self, seconds: float) -> float:
        """How much longer `auto` took than the best, as a share."""
        return seconds / min(self.best, seconds) - 1 if self.fixed else 0.0

    @property
    def is_long(self) -> bool:
        """Whether it lasts long enough, at its best, for a decision on the way."""
        return self.best * EMULATED >= LONG_SECONDS


def named(seed: int) -> list[Cold]:
    """The cases; where the limits of ends and credits lie is drawn from `seed`."""
    draw = random.Random(seed)
    ends = Machine(20, round(draw.uniform(60, 160)))
    credit = Credit(round(draw.uniform(90, 140)), round(draw.uniform(1500, 3000)))
    bursting = Machine(25, round(draw.uniform(30, 50)), credit)
    hidden = Machine(15, 100)
    tired = Machine(15, round(draw.uniform(6, 9)), Credit(30, round(draw.uniform(400, 600))))
    shared = Machine(20, 160, changes=((round(draw.uniform(80, 110)), round(draw.uniform(0.4, 0.7), 2)),))
    full = Machine(40, 40)
    relay = Machine(20, 160)

    def case(name: str, size: int, source: Machine, relays: Machine, fixed: tuple[int, ...], rest: float = 0) -> Cold:
        scenario = Scenario(name, size, 0, source, source, relays, BOOT_SECONDS, measured_pairs=0, end_types=END_TYPES)
        return Cold(scenario, fixed, rest)

    return [
        case("cold-ends-anywhere", 7500, ends, relay, (2, 4, 6)),
        case("cold-ends-full", 2000, full, relay, (0, 1)),
        case("cold-bursting-ends", 6500, bursting, relay, (1, 3), rest=60),
        case("hidden-credits-of-relays", 4000, hidden, tired, (2, 4)),
        case("cross-traffic", 6500, shared, relay, (3, 5)),
        replace(case("cold-tight-budget", 2500, ends, relay, ()), tight=True),
    ]


def run(cold: Cold) -> Contact:
    """One deployment without a history."""
    say(f"{cold.name}: {cold.scenario.size} MB, {cold.scenario.source}, relays {cold.scenario.relay}")
    with workspace("cpt-cold-") as work, _told(cold, work) as place:
        first = place.estimate("auto")
        direct = first["rows"][0]
        chosen = next(row for row in first["rows"] if row["pairs"] == first["chosenPairs"])
        budget = round(direct["costUsd"] + (TIGHT_USD if cold.tight else SPARE_USD), 4)
        wish = {"minimise": "time", "maxCostUsd": budget}
        report, calls = place.counted("first", "auto", objective=wish)
        decisions = report.get("decisions", [])
        _tell(decisions)
        contact = Contact(
            cold,
            low=min(row.get("secondsLow", row["seconds"]) for row in first["rows"]),
            high=max(row.get("secondsHigh", row["seconds"]) for row in first["rows"]),
            first=report["seconds"]["transfer"],
            first_pairs=decisions[-1]["pairs"] if decisions else chosen["pairs"],
            estimated=report["seconds"]["estimate"],
            estimated_usd=report["cost"]["total"],
            billed_usd=bill(report, calls, tariff(RELAY_TYPE), left_bytes=place.left_bytes(report)),
            budget_usd=budget,
            again=0.0,
            again_estimated=0.0,
            reasons=[one["reason"] for one in decisions],
        )
        say(f"  auto: {contact.first:.1f} s, ${contact.billed_usd:.4f} of at most ${budget:.4f}")
        for pairs in cold.fixed:
            time.sleep(cold.rest)
            contact.fixed[pairs] = place.move(f"fixed-{pairs}", pairs)["seconds"]["transfer"]
            say(f"  p = {pairs}: {contact.fixed[pairs]:.1f} s")
        time.sleep(cold.rest)
        later = place.move("again", "auto")
        estimate = later["estimate"]
        say(f"  again: {later['seconds']['transfer']:.1f} s; {estimate['chosenPairs']} pairs: {estimate['reason']}")
        _tell(later.get("decisions", []))
        return replace(contact, again=later["seconds"]["transfer"], again_estimated=later["seconds"]["estimate"])


def _tell(decisions: list[dict[str, Any]]) -> None:
    for one in decisions:
        say(f"  {one['pairs']} pairs after {one['afterSeconds']:.0f} s: {one['reason']}")


def _told(cold: Cold, work: Path) -> Any:
    return site(cold.scenario, work, spawn_seconds=BOOT_SECONDS + START_SECONDS)


def results(contacts: list[Contact]) -> list[Result]:
    """The rows: regret with its bar where the transfer is long, money in any case."""
    rows = []
    for one in contacts:
        best = f"best of { ({p: round(s, 1) for p, s in one.fixed.items()}) } s" if one.fixed else ""
        rows += [
            Result(
                f"first contact, {one.cold.name}: regret of auto",
                100 * one.regret(one.first),
                "%",
                100 * FIRST_REGRET if one.is_long else None,
                note=f"{one.first:.1f} s with {one.first_pairs} pairs at last, {best}; {' | '.join(one.reasons)}",
            ),
            Result(
                f"later, {one.cold.name}: regret of auto",
                100 * one.regret(one.again),
                "%",
                100 * LATER_REGRET if one.is_long else None,
                note=f"{one.again:.1f} s, estimated {one.again_estimated:.1f} s, {best}",
            ),
            Result(
                f"first contact, {one.cold.name}: share of maxCostUsd",
                100 * one.billed_usd / one.budget_usd,
                "%",
                100.0,
                note=f"${one.billed_usd:.4f} of ${one.budget_usd:.4f}; by the report ${one.estimated_usd:.4f}, "
                f"{relative_error(one.estimated_usd, one.billed_usd):+.1%}",
            ),
            Result(
                f"first contact, {one.cold.name}: time within the stated range",
                100.0 * (one.low <= one.first <= one.high),
                "%",
                100.0,
                "higher",
                note=f"{one.first:.1f} s, stated {one.low:.1f} to {one.high:.1f} s; decided: {one.estimated:.1f} s",
            ),
        ]
    return rows
