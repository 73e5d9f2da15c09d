"""`make bench-first-byte`: from start-execution to the first byte by the clock, in an account where nothing is warm.

With `--beside`, the control plane of another checkout is measured in turn, on the same local cloud.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.results import Result, publish, say
from local.cloud import ASSEMBLY, LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account

FILE_BYTES = 20_000_000
# Sending a command and looking at it twice, a second apart: a round of Run Command takes the 2 s of the calculation.
LIKE_AWS: dict[str, Any] = {
    "port": 0,
    "iam": False,  # an older checkout lacks permissions that the local cloud asks for since then
    "coldStartSeconds": 1.5,
    "pollSeconds": 1,
    "latency": {"remoteRegionSeconds": 0.15, "ssmSeconds": 0.3},
}
# docs/design/023-first-byte.md calculates 11.6 of 19 s, and the machine's own work, which is the same, adds to both.
BAR = 0.7


@dataclass(frozen=True)
class Step:
    """A task of the workflow: when it began after start-execution, and how long it took; seconds."""

    began: float
    took: float


@dataclass(frozen=True)
class Start:
    """The start of one execution: seconds to its first byte, and the tasks until then, by state."""

    first_byte: float
    steps: dict[str, Step]


def steps(events: Iterable[dict[str, Any]], started: datetime, until: float) -> dict[str, Step]:
    """Tasks that began less than `until` seconds after `started`; several of one state count from first to last."""
    entered: dict[str, float] = {}
    left: dict[str, float] = {}
    for event in events:
        at = (event["timestamp"] - started).total_seconds()
        if event["type"] == "TaskStateEntered" and at < until:
            entered.setdefault(event["stateEnteredEventDetails"]["name"], at)
        elif event["type"] == "TaskStateExited":
            left[event["stateExitedEventDetails"]["name"]] = at
    return {name: Step(at, left[name] - at) for name, at in entered.items() if name in left}


def measure(assembly: Path, pairs: int) -> Start:
    """A transfer of one file in a new account: every function is cold, and no machine has the daemon."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "set").mkdir()
        (work / "set" / "file").write_bytes(bytes(FILE_BYTES))
        with LocalCloud(LocalConfig.model_validate(LIKE_AWS), work / "state", assembly) as cloud:
            account = Account(cloud, work)
            run = account.run(account.request(work / "set", work / "out", relays={"pairs": pairs}), "first-byte")
            if run.status != "SUCCEEDED":
                raise SystemExit(f"bench-first-byte: {assembly}: {run.error}: {run.cause}")
            started = account.describe(run.arn)["startDate"]
            seconds = account.first_byte_at("first-byte") - started.timestamp()
            return Start(seconds, steps(account.events(run.arn), started, seconds))


def rows(case: str, starts: list[Start]) -> list[Result]:
    """Medians: of the whole, and of each task that all runs have."""
    common = [name for name in starts[0].steps if all(name in start.steps for start in starts)]

    def of(name: str, part: Callable[[Step], float]) -> float:
        return median(part(start.steps[name]) for start in starts)

    return [
        Result(f"{case}: start-execution to first byte", median(start.first_byte for start in starts), "s"),
        *(
            Result(f"{case}: {name}", of(name, lambda step: step.took), "s", note=f"from {began:.1f} s on")
            for began, name in sorted((of(name, lambda step: step.began), name) for name in common)
        ),
    ]


def main() -> int:
    """Every number of pairs, with this checkout and the other one in turn."""
    parser = argparse.ArgumentParser(prog="bench-first-byte")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--beside", type=Path, help="another checkout in which `make synth` has run")
    options = parser.parse_args()
    assemblies = {"now": ASSEMBLY} | ({"beside": options.beside / ASSEMBLY} if options.beside else {})
    results = []
    for pairs in options.pairs:
        found: dict[str, list[Start]] = {side: [] for side in assemblies}
        for number in range(options.runs):
            for side, assembly in assemblies.items():
                found[side].append(measure(assembly, pairs))
                say(f"{side}, p = {pairs}, run {number + 1}: {found[side][-1].first_byte:.1f} s")
        for side, starts in found.items():
            results += rows(f"{side}, p = {pairs}", starts)
        if options.beside:
            now, other = (median(start.first_byte for start in starts) for starts in found.values())
            results.append(Result(f"now over beside, p = {pairs}", now / other, "×", BAR))
    return publish("first-byte", results, f"make bench-first-byte ARGS={' '.join(sys.argv[1:])!r}")


if __name__ == "__main__":
    sys.exit(main())
