"""Does the pre-test keep the better half of fleets that it does not know?

Each fleet has 2p pairs, p = 2 or 3; every relay has a share of its type's caps of its own. The direct path is slow, so
that little is moved before the fleet has joined.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from bench.estimate.arithmetic import percentile, relative_error
from bench.estimate.scenarios import Machine
from bench.fleet.arithmetic import mistakes
from bench.fleet.draws import Fleet, anything, fleet
from bench.fleet.site import CaseError, Machines, Options, Site, site
from bench.results import Result, say

FLEETS, QUICK_FLEETS = 20, 2
ENDS, RELAY = Machine(4, 200), Machine(16, 80)
SIZE = 100
NOISE = 0.10
"""Two measurements of one relay in a second each differ by up to so much: closer pairs cannot be told apart."""


def draw(seed: int, count: int) -> list[Fleet]:
    """Fleets of 4 and 6 pairs in turn; the same for the same seed."""
    randomness = Random(seed)
    return [fleet(randomness, f"fleet-{number}", 2 * (2 + number % 2), anything) for number in range(count)]


def run(options: Options) -> list[Result]:
    """One transfer through each fleet."""
    fleets = draw(options.seed, QUICK_FLEETS if options.quick else FLEETS)
    right, errors = 0, []
    with site(Machines(ENDS, RELAY, fleets=tuple(fleets))) as place:
        place.begin()
        place.fill(SIZE)
        for one in fleets:
            found, off = choose(place, one)
            right += not found
            errors += off
    noise = f"pairs within {NOISE:.0%} count as alike; measured rates lie within {percentile(errors, 0.9):.1%} (p90)"
    return [Result("pre-test: the better half kept", right, f"of {len(fleets)}", len(fleets), "higher", noise)]


def choose(place: Site, one: Fleet) -> tuple[list[str], list[float]]:
    """Wrong choices in words, and how far each measured rate is off."""
    pairs = len(one.pairs) // 2
    report = place.move(one.transfer, pairs, pre_test=True).report
    rates = {slot: RELAY.inter * share for slot, share in enumerate(one.pairs, 1)}
    kept = {node["slot"] for node in report["nodes"] if "joinedAt" in node}
    if len(kept) != pairs:
        raise CaseError(f"{one.transfer}: {len(kept)} of {pairs} pairs joined; the transfer was over before")
    wrong = [f"kept {rates[m.kept]:.1f}, rejected {rates[m.rejected]:.1f}" for m in mistakes(rates, kept, NOISE)]
    say(f"  {one.transfer}: true MB/s {sorted(rates.values())}, kept {sorted(rates[slot] for slot in kept)} {wrong}")
    return wrong, deviations(report, rates)


def deviations(report: Mapping[str, Any], rates: Mapping[int, float]) -> list[float]:
    """By how much each measured pair is off its true rate, as a share; rejected pairs count too."""
    measured = {node["slot"]: node["measuredInterRegionMBps"] for node in report["nodes"]}
    return [abs(relative_error(measured[slot], rate)) for slot, rate in rates.items()]
