"""`make bench-sets`: several machines at an end, each held to its own rate, against the sum of what they may move."""

import argparse
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.data_plane import files
from bench.data_plane.process import BenchError
from bench.machine import unmet, workspace
from bench.options import count, names_among, positive
from bench.results import Result, measured, publish, say
from bench.slow_calls import COUNT, small_files
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files

CAP_MB_S = 10.0
NARROW, WIDE, SLOW = "t3.small", "c6in.large", "t3.nano"
"""Types of machines: of `CAP_MB_S`, of five times that, so that the other side is what limits, and of a quarter."""
CAPS = {NARROW: CAP_MB_S, WIDE: 5 * CAP_MB_S, SLOW: CAP_MB_S / 4}
INSIDE_MB_S = 100.0
DATA_OF_PACKETS = 1448 / 1514
"""Caps count packets; so much of one that leaves for another region over the internet is data."""
SECONDS = 107.0
"""As long as the sum of the machines takes for a case's bytes, if packets were data alone: 4 GiB for four machines."""
LEAST = 0.95


@dataclass(frozen=True)
class Case:
    """Types of the machines at both ends."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    pairs: int = 0

    @property
    def mb_s(self) -> float:
        """The sum of what the narrower side may move, headers included."""
        return min(sum(CAPS[kind] for kind in side) for side in (self.senders, self.receivers))

    @property
    def data_mb_s(self) -> float:
        """What of that is data."""
        return self.mb_s * DATA_OF_PACKETS


SLOW_CALLS = "slow-calls"
CASES = {
    "1x1": Case((NARROW,), (NARROW,)),
    "2x2": Case((NARROW,) * 2, (NARROW,) * 2),
    "4x1": Case((NARROW,) * 4, (WIDE,)),
    "1x4": Case((WIDE,), (NARROW,) * 4),
    "4x4": Case((NARROW,) * 4, (NARROW,) * 4),
    "4x4-relays": Case((NARROW,) * 4, (NARROW,) * 4, pairs=2),
    "4x4-one-slow": Case((NARROW, NARROW, NARROW, SLOW), (NARROW,) * 4),
}


class Site:
    """An account with machines of each type in both regions, launched as they are needed."""

    def __init__(self, cloud: LocalCloud, work: Path) -> None:
        self.account = Account(cloud, work, (NARROW, NARROW))
        self._machines = {(HOME, NARROW): [self.account.source], (OTHER, NARROW): [self.account.destination]}

    def ends(self, region: str, kinds: tuple[str, ...]) -> dict[str, Any]:
        """The `instanceId` or `instanceIds` of an end."""
        chosen: list[str] = []
        for kind in kinds:
            known = self._machines.setdefault((region, kind), [])
            if not (free := [machine for machine in known if machine not in chosen]):
                free = [self.account.cloud.launch_vm(region, f"{kind} {len(known)}", kind)]
                known += free
            chosen.append(free[0])
        return {"instanceIds": chosen} if len(chosen) > 1 else {"instanceId": chosen[0]}

    def destination(self, name: str) -> Path:
        """Where the tree of a case arrives."""
        return self.account.work / f"out-{name}"

    def run(self, name: str, case: Case, source: Path) -> list[Result]:
        """Move the tree; the part of the sum of rates that was reached. Raises SystemExit where it did not arrive."""
        destination = self.destination(name)
        request = {
            "source": {**self.ends(HOME, case.senders), "region": HOME, "paths": [str(source)]},
            "destination": {**self.ends(OTHER, case.receivers), "region": OTHER, "path": str(destination)},
            "relays": {"pairs": case.pairs},
            "preTest": False,
        }
        run = self.account.run(request, f"sets-{name.replace('_', '-')}")
        if run.status != "SUCCEEDED" or files.digests(destination / source.name) != files.digests(source):
            raise SystemExit(f"bench-sets: {name}: {run.status}, {run.error}: {run.cause}")
        seconds = run.report["seconds"]["transfer"]
        rate = run.report["bytes"] / seconds / 1e6
        shares = ", ".join(f"{seat['seatId']} {seat['bytes'] / 1e6:,.0f} MB" for seat in run.report.get("seats", []))
        bound = f"{case.mb_s:g} MB/s, of which {case.data_mb_s:.1f} can be data"
        note = f"{rate:.1f} of {bound}, in {seconds:.1f} s; {shares}"
        say(f"  {name}: {note}")
        return [Result(name, rate / case.mb_s, "of the sum", LEAST, "higher", note)]


def main() -> int:
    """Run each case in one cloud, one after the other."""
    parser = argparse.ArgumentParser(prog="make bench-sets ARGS=")
    parser.add_argument("--cases", type=names_among([*CASES, SLOW_CALLS]), default=[*CASES, SLOW_CALLS])
    parser.add_argument("--seconds", type=positive, default=SECONDS, help="of data of each case")
    parser.add_argument("--files", type=count, default=COUNT, help="of the case of slow calls")
    options = parser.parse_args()
    if lacks := unmet():
        raise SystemExit(f"bench-sets: {'; '.join(lacks)}")
    by_type = {kind: {"interRegionMBps": mb_s, "intraRegionMBps": INSIDE_MB_S} for kind, mb_s in CAPS.items()}
    caps = {"interRegionMBps": CAP_MB_S, "intraRegionMBps": INSIDE_MB_S, "byType": by_type}
    config = LocalConfig.model_validate({"port": 0, "instances": "netns", "caps": caps, "bootSeconds": 2.0})
    results: list[Result] = []
    if names := [name for name in options.cases if name != SLOW_CALLS]:
        with workspace("cpt-sets-") as work, LocalCloud(config, work / "state") as cloud:
            site = Site(cloud, work)
            for name in names:
                case = CASES[name]
                source = make_files(work / f"set-{name}", large_bytes=int(options.seconds * case.mb_s * 1e6))
                results += measured(name, partial(site.run, name, case, source), (TimeoutError,))
                # Memory would not bear those of all cases.
                for folder in (source, site.destination(name)):
                    shutil.rmtree(folder, ignore_errors=True)
    if SLOW_CALLS in options.cases:
        with workspace("cpt-slow-calls-") as work:
            results += measured(SLOW_CALLS, partial(small_files, work, options.files), (BenchError,))
    return publish("sets", results, "make bench-sets")


if __name__ == "__main__":
    sys.exit(main())
