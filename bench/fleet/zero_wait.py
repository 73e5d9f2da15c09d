"""Is a transfer with relays never slower than without, and what does the workflow take before and after the data?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from bench.estimate.scenarios import Machine
from bench.fleet.site import Machines, Options, Site, site
from bench.results import Result, say

PAIRS = 3
ENDS, RELAY = Machine(20, 160), Machine(20, 160)
SIZES, QUICK_SIZES = (10, 50, 200, 500, 2000), (10, 200)
RUNS = 3
SMALL, RUNS_OF_SMALL = 100, 9
"""MB below which a run lasts so short that three of them say nothing of 2 %."""
BAR = 1.02


@dataclass(frozen=True)
class Phases:
    """Of one execution, seconds: start to first byte, first to last byte, last byte to end."""

    before: float
    data: float
    after: float


def run(options: Options) -> list[Result]:
    """Every size without and with relays in turn."""
    found: dict[tuple[int, int], list[Phases]] = {}
    with site(Machines(ENDS, RELAY)) as place:
        place.begin()
        for size in QUICK_SIZES if options.quick else SIZES:
            place.fill(size)
            for number in range(runs(size, quick=options.quick)):
                for pairs in (0, PAIRS):
                    phases = measure(place, f"size-{size}-{pairs}-{number}", pairs)
                    found.setdefault((size, pairs), []).append(phases)
                    say(f"  {size} MB, p = {pairs}: {phases.data:.2f} s")
    ratios = [ratio(size, found[size, 0], found[size, PAIRS]) for size, pairs in found if pairs == 0]
    return [*ratios, *overhead(found)]


def runs(size: int, *, quick: bool) -> int:
    """How many of a size, MB."""
    if quick:
        return 1
    return RUNS_OF_SMALL if size < SMALL else RUNS


def measure(place: Site, name: str, pairs: int) -> Phases:
    """One transfer, from start-execution to the execution's end."""
    done = place.move(name, pairs)
    execution = place.account.describe(done.arn)
    whole = (execution["stopDate"] - execution["startDate"]).total_seconds()
    before, data = done.report["seconds"]["firstByte"], done.report["seconds"]["transfer"]
    return Phases(before, data, whole - before - data)


def ratio(size: int, without: Iterable[Phases], with_relays: Iterable[Phases]) -> Result:
    """Data time with relays over that without; medians."""
    alone, helped = (median(one.data for one in phases) for phases in (without, with_relays))
    return Result(
        f"zero wait, {size} MB: p = {PAIRS} / p = 0", helped / alone, "×", BAR, note=f"{helped:.2f} of {alone:.2f} s"
    )


def overhead(found: Mapping[tuple[int, int], list[Phases]]) -> list[Result]:
    """What the workflow takes besides the data, of all sizes: medians, no bar."""
    rows = []
    for pairs in (0, PAIRS):
        phases = [one for (_, number), several in found.items() if number == pairs for one in several]
        rows += [
            Result(f"start of the execution to first byte, p = {pairs}", median(one.before for one in phases), "s"),
            Result(f"last byte to end of the execution, p = {pairs}", median(one.after for one in phases), "s"),
        ]
    return rows
