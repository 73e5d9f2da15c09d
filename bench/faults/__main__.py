"""Run the cases; write `bench/out/faults.json` (or `faults-random.json`), the worst first."""

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.data_plane.network import NetworkError
from bench.faults import read_again
from bench.faults.cases import LONG, Case, cover, several
from bench.faults.machines import disk
from bench.faults.run import CAP, INSIDE, Run
from bench.results import Result, measured, publish, say
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account

LARGE_BYTES, SMALL_FILES, SMALL_BYTES = 180_000_000, 2_000, 10_000
CONFIG = {
    "port": 0,
    "instances": "netns",
    "caps": {"interRegionMBps": CAP, "intraRegionMBps": INSIDE},
    "bootSeconds": 2.0,
}


def main() -> int:
    """Run the cases that the arguments choose."""
    parser = argparse.ArgumentParser(prog="make bench-faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=90, help="at most so many, by how much each tells")
    parser.add_argument("--skip", type=int, default=0, help="without the first ones")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--random", type=int, default=0, help="instead, so many transfers with one to four faults each")
    parser.add_argument("--seed", type=int, default=1, help="of the first one; each has the next number")
    parser.add_argument("--large", action="store_true", help="instead, what a sender reads again of 8 GB")
    options = parser.parse_args()
    if options.large:
        with tempfile.TemporaryDirectory() as folder:
            return publish("faults-large", read_again.case(Path(folder)), "make bench-faults")
    if options.random:
        seeds = range(options.seed, options.seed + options.random)
        runs = {f"seed {seed}": several(random.Random(seed)) for seed in seeds}
        return publish("faults-random", run_all(runs), "make bench-faults")
    chosen = [case for case in [*cover(90), *LONG] if options.only in str(case)][options.skip : options.runs]
    if not chosen:
        parser.error(f"--only {options.only!r} is in the name of no case, such as {cover(1)[0]}")
    return publish("faults", run_all({str(case): [case] for case in chosen}), "make bench-faults")


def run_all(runs: dict[str, list[Case]]) -> list[Result]:
    """The results, the worst first."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        work = Path(folder)
        source = make_source(work / "set")
        cloud = stack.enter_context(LocalCloud(LocalConfig.model_validate(CONFIG), work / "state"))
        account = Account(cloud, work)
        for number, (name, cases) in enumerate(runs.items()):
            with disk(work / f"image-{number}", work / f"disk-{number}", 400) as place:
                run = Run(account, cases, f"fault-{number}", source, place)
                named = title(name, cases)
                results += measured(named, partial(run.measure, named), (NetworkError, TimeoutError))
            (work / f"image-{number}").unlink()
            result = results[-1]
            say(f"{number + 1}/{len(runs)}: {result.measured:.1f} s, bar {result.bar}; {result.note}")
    return sorted(results, key=lambda result: result.measured - (result.bar or 0), reverse=True)


def title(name: str, cases: Sequence[Case]) -> str:
    """What a result is called: of several faults, all."""
    if [str(case) for case in cases] == [name]:
        return name
    return f"{name}: p = {cases[0].pairs}, " + "; ".join(
        f"{case.party} {case.fault.name}, {case.moment}" for case in cases
    )


def make_source(folder: Path) -> Path:
    """200 MB in 2 001 files."""
    folder.mkdir()
    (folder / "large").write_bytes(bytes(range(256)) * (LARGE_BYTES // 256))
    for number in range(SMALL_FILES):
        (folder / f"small-{number}").write_bytes(number.to_bytes(4, "big") * (SMALL_BYTES // 4))
    return folder


if __name__ == "__main__":
    sys.exit(main())
