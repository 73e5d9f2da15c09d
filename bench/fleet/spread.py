"""Does the pre-test make the time of a transfer predictable (the thesis' Figures 6.3 and 6.4, 8 GB)?

The transfer is the thesis' on another scale: as many T_v long (8 192 MB at 15 MB/s and T_v = 90 s are 6.07), p = 4, and
a pre-test of two thirds of T_v (30 s + 30 s there). Spread is the slowest run less the fastest, as a share of the mean.

How relays differ was chosen by simulation with the zero-wait model, joining late or early by σ = 0.25 s: relays
that are alike but for one in ten, which its neighbours slow down. The runs with a pre-test then spread by 5 % or less
with nine seeds of ten (with all but one of a hundred, if single relays were kept in place of pairs). Evenly spread
relays would not do: of a normal distribution the better half still differs, by 9 % where all differ by 22 % (σ 30 %).
Fleets are what the seed draws, and all of them are reported. In half of all draws the runs without a pre-test spread by
less than 17 %: there is less to gain then, and that row has no bar.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean, pstdev

from bench.estimate.scenarios import START_SECONDS, Machine
from bench.fleet.arithmetic import spread
from bench.fleet.draws import Fleet, fleet, neighbours
from bench.fleet.site import CaseError, Machines, Options, Site, site
from bench.results import Result, say
from lambdas.core.estimate import pre_tests
from lambdas.core.models.zero_wait import Serving, zero_wait

PAIRS = 4
RUNS, QUICK_RUNS = 12, 2
PROBE_SECONDS = 4.8
THESIS_SIZE, THESIS_RATE, THESIS_SPAWN = 8192, 15, 90
ENDS, RELAY = Machine(10, 200), Machine(10, 80)
BOOT_SECONDS = 8.8
SPAWN_SECONDS = BOOT_SECONDS + START_SECONDS
PRE_TEST_SECONDS = pre_tests.seconds(PROBE_SECONDS, PAIRS) + 0.7
"""With what the table takes."""
SIZE = round(THESIS_SIZE / (THESIS_RATE * THESIS_SPAWN) * ENDS.inter * SPAWN_SECONDS)
MOST_WITH = 0.05


def expected(one: Fleet) -> float:
    """Seconds by the model: half of the pairs, if they have to be chosen from twice as many."""
    chosen, joins = one.pairs, SPAWN_SECONDS
    if len(chosen) > PAIRS:
        chosen, joins = sorted(chosen)[-PAIRS:], SPAWN_SECONDS + PRE_TEST_SECONDS
    relays = [Serving(RELAY.inter * share, joins) for share in chosen]
    return zero_wait(SIZE, [Serving(ENDS.inter), *relays], ENDS.intra, ENDS.intra)


def draw(seed: int, runs: int) -> tuple[list[Fleet], list[Fleet]]:
    """Fleets without and with a pre-test, one of each per run: the first has the first pairs of the second."""
    randomness = Random(seed)
    tested = [fleet(randomness, f"tested-{number}", 2 * PAIRS, neighbours) for number in range(runs)]
    plain = [
        Fleet(f"plain-{number}", one.sources[:PAIRS], one.destinations[:PAIRS]) for number, one in enumerate(tested)
    ]
    return plain, tested


def run(options: Options) -> list[Result]:
    """Runs without and with a pre-test in turn, so that whatever slows the machine meets both."""
    plain, tested = draw(options.seed, QUICK_RUNS if options.quick else RUNS)
    without, with_it = [], []
    with site(Machines(ENDS, RELAY, BOOT_SECONDS, PROBE_SECONDS, (*plain, *tested))) as place:
        place.begin()
        place.fill(SIZE)
        for one, other in zip(plain, tested, strict=True):
            without.append(seconds(place, one, pre_test=False))
            with_it.append(seconds(place, other, pre_test=True))
    return [
        row("without pre-test", plain, without),
        row("with pre-test", tested, with_it, MOST_WITH),
    ]


def seconds(place: Site, one: Fleet, *, pre_test: bool) -> float:
    """Data time of a transfer through the fleet."""
    report = place.move(one.transfer, PAIRS, pre_test=pre_test).report
    if report["pairs"] != PAIRS:
        raise CaseError(f"{one.transfer}: {report['pairs']} of {PAIRS} pairs joined; the transfer was over before")
    taken: float = report["seconds"]["transfer"]
    say(f"  {one.transfer}: {taken:.1f} s, by the model {expected(one):.1f} s")
    return taken


def row(name: str, fleets: Sequence[Fleet], taken: Sequence[float], bar: float | None = None) -> Result:
    """The spread of the runs, at most `bar`, beside the model's."""
    model = spread([expected(one) for one in fleets])
    note = f"of {fmean(taken):.1f} s; σ {pstdev(taken) / fmean(taken):.1%}; by the model {model:.1%}"
    case = f"spread of {len(taken)} runs {name}"
    return Result(case, 100 * spread(taken), "%", None if bar is None else 100 * bar, note=note)
