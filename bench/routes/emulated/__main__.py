"""`make bench-routes-emulated`: routes through third regions with real bytes."""

import argparse
import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from bench.data_plane import files
from bench.data_plane.bench import Bench
from bench.data_plane.network import NetworkError
from bench.data_plane.process import BenchError
from bench.machine import unmet, workspace
from bench.options import names_among
from bench.results import OUT, Result, measured, publish, say
from bench.routes.changing import MINUTES, RELAYS, SHARED
from bench.routes.emulated import drawn_pairs, figure_nine, whole
from bench.routes.emulated.figure_nine import COMPARED, Setting
from local.cloud import LocalCloudError
from tests.e2e.assembly import synthesized

DAEMON = Path("relay-ami/relay/target/release/cpt-laboratory")
SERIES = OUT / "routes-emulated-series.json"
FAILURES = (BenchError, NetworkError, LocalCloudError, TimeoutError, BotoCoreError, ClientError, whole.WholeError)
OURS = COMPARED[-1]
# As for the simulation: at the least of all seeds for the direct link, at their median for the other.
BARS = {"direct link": 0.98, "widest path, refreshed": 1.15}
# Room in the source, so that no strategy is ever at its end.
ROOM, ROOM_MB = 1.15, 64
MOST_ERROR = 0.1
# Of the seeds; on a machine that others use, one may be disturbed.
LEAST_MEASURED = 0.9
T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What a case is told."""

    seeds: list[int]
    seconds: float
    at_once: int
    whole_seeds: int


def _beside(one: Callable[[int], T], seeds: list[int], at_once: int) -> list[T]:
    """Each seed, some of them beside each other; after Ctrl-C none begins."""
    pool = ThreadPoolExecutor(at_once)
    try:
        return list(pool.map(one, seeds))
    finally:
        pool.shutdown(cancel_futures=True)


def of_figure_nine(whole_links: bool, late: bool, options: Options) -> list[Result]:
    """The four strategies on every seed."""
    minute = options.seconds / MINUTES
    setting = (
        Setting(True, SHARED, late, scale=0.1, minute_seconds=minute, relays=RELAYS)
        if whole_links
        else Setting(False, 1.0, late, scale=0.05, minute_seconds=minute, relays=RELAYS)
    )
    case = f"figure 9, {'links' if whole_links else 'machines'} are capped, {'late' if late else 'at once'}"
    done: list[dict[str, Any]] = []
    with workspace("cpt-routes-") as work:
        bench = Bench(DAEMON.resolve(), work)
        source = bench.folder("source")
        files.large(source, int((figure_nine.most_mb(setting, options.seeds) * ROOM + ROOM_MB) * 1e6))

        def one(seed: int) -> figure_nine.Measured | None:
            try:
                found = figure_nine.measure(replace(bench, work=bench.folder(f"seed-{seed}")), source, setting, seed)
            except BenchError as error:
                say(f"  seed {seed}: {error}")
                return None
            finally:
                bench.folder(f"seed-{seed}").rmdir()
            figure_nine.tell(found)
            done.append(asdict(found))
            _keep(case, done)
            return found

        found = [measure for measure in _beside(one, options.seeds, options.at_once) if measure]
    if len(found) < len(options.seeds) * LEAST_MEASURED:
        raise BenchError(f"{len(found)} of {len(options.seeds)} seeds could be measured")
    case += f", {len(found)} seeds"
    return _of_strategies(case, found, BARS if whole_links else {})


def _of_strategies(case: str, found: list[figure_nine.Measured], bars: dict[str, float]) -> list[Result]:
    results = []
    for name in COMPARED:
        if name != OURS:
            ratios = [one.arrived[OURS] / one.arrived[name] for one in found]
            of_simulation = median(one.simulated[OURS] / one.simulated[name] for one in found)
            at_worst = name == "direct link"
            value = min(ratios) if at_worst else median(ratios)
            which, note = (
                ("least", f"median {median(ratios):.3f}") if at_worst else ("median", f"least {min(ratios):.3f}")
            )
            note += f"; the simulation's median on these seeds {of_simulation:.3f}"
            results.append(Result(f"{case}: over {name}, {which}", value, "x", bars.get(name), "higher", note))
    for name in COMPARED:
        shares = [one.arrived[name] / one.simulated[name] for one in found]
        note = f"{min(shares):.3f} to {max(shares):.3f}"
        results.append(Result(f"{case}: {name}, measured over simulated, median", median(shares), "x", note=note))
    again = max(sum(one.again.values()) / sum(one.arrived.values()) for one in found)
    results.append(
        Result(f"{case}: bytes that had to be sent again, most of a seed", again, "", note="they count once")
    )
    used = max(one.used for one in found)
    note = "of one run of four strategies, senders, receivers and relays"
    return [*results, Result(f"{case}: processors that the daemons used, most", used, "cores", note=note)]


def of_drawn_pairs(options: Options) -> list[Result]:
    """The planned scheme beside pairs, on every seed."""
    seconds = max(options.seconds / 2, 2 * drawn_pairs.FIRST_SECONDS)
    drawn = {seed: drawn_pairs.draw(seed) for seed in options.seeds}
    most = max(drawn_pairs.most_mb(one, seconds) for one in drawn.values())
    found = []
    with workspace("cpt-routes-") as work:
        bench = Bench(DAEMON.resolve(), work)
        source = bench.folder("source")
        files.large(source, int((most * ROOM + ROOM_MB) * 1e6))
        for seed, one in drawn.items():
            found.append(drawn_pairs.measure(bench, source, one, seconds))
            drawn_pairs.tell(seed, found[-1])
    errors = [one.error for one in found]
    ratios, plans = median(one.ratio for one in found), median(one.drawn.planned for one in found)
    shares = [share for one in found for share in one.shares]
    case = "pairs of the measured map"
    note = f"most {max(errors):.3f}; median ratio {ratios:.3f}, planned {plans:.3f}"
    return [
        Result(f"{case}: error of the planned ratio, median", median(errors), "", MOST_ERROR, note=note),
        Result(f"{case}: measured over planned rate, median", median(shares), "", note=f"least {min(shares):.3f}"),
    ]


def of_whole(options: Options) -> list[Result]:
    """Whole transfers with and without third regions, on a few seeds."""
    seeds = options.seeds[: options.whole_seeds]
    with tempfile.TemporaryDirectory(prefix="cpt-routes-") as folder:
        assembly = synthesized(Path(folder) / "cdk.out", whole.SIX)

        def one(seed: int) -> whole.Compared:
            found = whole.compare(Bench(DAEMON.resolve(), Path(folder) / f"seed-{seed}"), assembly, seed)
            whole.tell(found)
            return found

        found = _beside(one, seeds, options.at_once)
    ratios = [one.ratio for one in found]
    planned = median(one.planned for one in found)
    note = f"least {min(ratios):.3f}, most {max(ratios):.3f}; planned for the first minute {planned:.3f}"
    left = [one for compared in found for one in compared.left]
    return [
        Result("whole transfers: pairs' seconds over those with third regions, median", median(ratios), "x", note=note),
        Result("whole transfers: left in any region", len(left), "", 0, note="; ".join(left)),
    ]


CASES: dict[str, Callable[[Options], list[Result]]] = {
    "links": partial(of_figure_nine, True, True),
    "links-at-once": partial(of_figure_nine, True, False),
    "machines": partial(of_figure_nine, False, True),
    "machines-at-once": partial(of_figure_nine, False, False),
    "drawn-pairs": of_drawn_pairs,
    "whole": of_whole,
}
DEFAULT = ("links", "machines", "drawn-pairs", "whole")


def _keep(case: str, found: list[dict[str, Any]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    series = json.loads(SERIES.read_text()) if SERIES.exists() else {}
    SERIES.write_text(json.dumps({**series, case: found}) + "\n")


def main(arguments: Sequence[str]) -> int:
    """Run the cases one after the other, publish."""
    asked = parse(arguments)
    problems = unmet() + ([] if DAEMON.exists() else [f"{DAEMON} is missing: make bench-routes-emulated builds it"])
    for problem in problems:
        say(f"bench-routes-emulated: {problem}")
    if problems:
        return 2
    random = Random(asked.seed)
    seeds = [random.randrange(2**32) for _ in range(asked.seeds)]
    say(f"seed {asked.seed}: repeat with --seed {asked.seed}; it draws {', '.join(map(str, seeds))}")
    options = Options(seeds, asked.seconds, asked.at_once, asked.whole_seeds)
    results = [row for name in asked.cases for row in measured(name, partial(CASES[name], options), FAILURES)]
    given = f"--cases {','.join(asked.cases)} --seeds {asked.seeds} --seconds {asked.seconds:g} --seed {asked.seed}"
    given += f" --whole-seeds {asked.whole_seeds}" if "whole" in asked.cases else ""
    given += f" --at-once {asked.at_once}" if asked.at_once > 1 else ""
    return publish("routes-emulated", results, f"make bench-routes-emulated ARGS='{given}'")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="bench-routes-emulated", description=__doc__)
    parser.add_argument("--cases", type=names_among(CASES), default=list(DEFAULT), help=f"of {','.join(CASES)}")
    parser.add_argument("--seeds", type=int, default=20, help="that are drawn")
    parser.add_argument("--whole-seeds", type=int, default=3, help="of these for whole transfers")
    parser.add_argument("--seconds", type=float, default=60, help="that the ten minutes of Figure 9 take")
    parser.add_argument("--at-once", type=int, default=1, help="seeds that run beside each other")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="that the others are drawn from")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
