"""Run the cases; write `bench/out/faults.json`, the worst first."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from bench.faults.cases import CUT_SECONDS, RELAYS, STALL_SECONDS, Case, cover
from bench.faults.machines import METADATA, Machine, disk, frozen_disk
from bench.results import Result, publish, say
from lambdas.core.models import Serving, zero_wait
from local.cloud import LocalCloud
from local.config import Fault, LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import tree

CAP, INSIDE = 8.0, 60.0
LARGE_BYTES, SMALL_FILES, SMALL_BYTES = 180_000_000, 2_000, 10_000
CONFIG = {
    "port": 0,
    "instances": "netns",
    "caps": {"interRegionMBps": CAP, "intraRegionMBps": INSIDE},
    "bootSeconds": 2.0,
}
DIRECT_SLACK_SECONDS = 10.0
"""Never more than the direct path alone and so much."""


class Run:
    """One transfer with one fault."""

    def __init__(self, account: Account, case: Case, name: str, source: Path, place: Path) -> None:
        self.account, self.case, self.name, self.source, self.place = account, case, name, source, place
        self.megabytes = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e6

    def measure(self) -> Result:
        """Run it; the note has what the bound was made of."""
        request = self.account.request(self.source, self.place / "out", relays={"pairs": self.case.pairs})
        arn = self.account.start(request, self.name)
        self._wait_for_moment()
        faulted_at = time.time()
        self._fault(lambda: self.account.describe(arn)["status"] != "RUNNING")
        run = self.account.wait(arn, 600)
        if run.status != "SUCCEEDED" or tree(self.place / "out" / self.source.name) != tree(self.source):
            return Result(str(self.case), 0, "identical", 1, "higher", f"{run.error}: {run.cause}")
        bound, model = self._bound(run.report, faulted_at)
        seconds = run.report["seconds"]["transfer"]
        extra = {key: run.report[key] for key in ("retries", "restarts", "hedgedBytes") if run.report.get(key)}
        return Result(str(self.case), seconds, "s", round(bound, 1), note=f"model {model:.1f} s {extra or ''}".strip())

    def _bound(self, report: dict[str, Any], faulted_at: float) -> tuple[float, float]:
        """Seconds that it may take, and the zero-wait model's with the capacity that was missing."""
        fault, party, pairs = self.case.fault, self.case.party, self.case.pairs
        first = self.account.first_byte_at(self.name)
        at = max(faulted_at - first, 0.0)
        back = at + fault.away_seconds
        joins: dict[int, float] = {}
        for node in report["nodes"]:
            if "joinedAt" in node and node["generation"] == 0:
                joins[node["slot"]] = max(joins.get(node["slot"], 0.0), node["joinedAt"] - first)
        lanes = [("direct", 0.0), *((f"pair-{slot}", joined) for slot, joined in joins.items())]
        hit = {"pair-1"} if party in RELAYS else {name for name, _ in lanes} if fault.away_seconds else set()
        serving = [
            part
            for name, joined in lanes
            for part in (_without(joined, at, back) if name in hit else [Serving(CAP, joined)])
        ]
        model = zero_wait(self.megabytes, serving, INSIDE, INSIDE)
        under_way = 16.0 / (CAP * (1 + pairs))  # two chunks of 8 MB
        direct = self.megabytes / CAP + (fault.away_seconds if party not in RELAYS else 0) + DIRECT_SLACK_SECONDS
        return min(model + fault.allowed_seconds + under_way, direct), model

    def _wait_for_moment(self) -> None:
        cloud, account, name = self.account.cloud, self.account, self.name

        def delivered() -> list[int]:
            return [int(chunk["bytes"]) for chunk in account.chunks(name) if chunk["state"] == "DELIVERED"]

        share = {"half": 0.5, "near the end": 0.9}.get(self.case.moment)
        if self.case.moment == "before the join":
            cloud.wait_for(lambda: account.progress(name)["sequence"] > 0, 120)
        elif self.case.moment == "after the join":
            joined = lambda: sum("joinedAt" in node for node in account.nodes(name)) == 2 * self.case.pairs  # noqa: E731
            cloud.wait_for(joined, 120)
        elif share is not None:
            cloud.wait_for(lambda: sum(delivered()) >= share * self.megabytes * 1e6, 240)
        else:
            cloud.wait_for(lambda: len(delivered()) >= len(account.chunks(name)) - 2 > 0, 240)

    def _machine(self) -> Machine:
        if self.case.party == "sender":
            return Machine(self.account, self.account.source, HOME)
        if self.case.party == "receiver":
            return Machine(self.account, self.account.destination, OTHER)
        node = next(node for node in self.account.nodes(self.name) if node["nodeId"] == self.case.party)
        return Machine(self.account, str(node["instanceId"]), str(node["region"]))

    def _fault(self, is_over: Callable[[], bool]) -> None:
        name = self.case.fault.name
        if name == "dies after its work":
            spoilt = {"operation": "Invoke", "region": HOME, "function": self.case.party, "code": "Sandbox.Timedout"}
            self.account.cloud.spoil(Fault.model_validate(spoilt))
            return
        machine = self._machine()
        if machine.namespace is None:
            return  # near the end relays that are not needed any more have left
        during: dict[str, tuple[float, AbstractContextManager[Any]]] = {
            "cut off": (CUT_SECONDS, machine.dropping("in iifname eth0", "out oifname eth0")),
            "hears nothing": (CUT_SECONDS, machine.dropping("in iifname eth0")),
            "is not heard": (CUT_SECONDS, machine.dropping("out oifname eth0")),
            "slow": (CUT_SECONDS, machine.dropping(f"out oifname eth0 limit rate over {CAP * 100:.0f} kbytes/second")),
            "without AWS": (STALL_SECONDS, machine.dropping("out ip daddr 127.0.0.1")),
            "without credentials": (STALL_SECONDS, machine.dropping(f"out ip daddr {METADATA}")),
            "disk stalls": (
                STALL_SECONDS,
                frozen_disk(self.place) if self.case.party == "receiver" else nullcontext(),
            ),
        }
        if name == "killed":
            machine.signal("KILL")
        elif name == "frozen":
            machine.signal("STOP")
        elif name == "machine gone":
            machine.terminate()
        else:
            seconds, fault = during[name]
            end = time.monotonic() + seconds
            with fault:
                while time.monotonic() < end and not is_over():
                    time.sleep(0.1)


def _without(joined: float, begin: float, end: float) -> list[Serving]:
    """A path that carries nothing between two moments."""
    before = [Serving(CAP, joined, begin)] if begin > joined else []
    return [*before, Serving(CAP, max(joined, end))]


def main() -> int:
    """Run the cases that the arguments choose."""
    parser = argparse.ArgumentParser(prog="make bench-faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=90, help="at most so many, by how much each tells")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    cases = [case for case in cover(90) if options.only in str(case)][: options.runs]
    results = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        work = Path(folder)
        source = work / "set"
        source.mkdir()
        (source / "large").write_bytes(bytes(range(256)) * (LARGE_BYTES // 256))
        for number in range(SMALL_FILES):
            (source / f"small-{number}").write_bytes(number.to_bytes(4, "big") * (SMALL_BYTES // 4))
        cloud = stack.enter_context(LocalCloud(LocalConfig.model_validate(CONFIG), work / "state"))
        account = Account(cloud, work)
        for number, case in enumerate(cases):
            with disk(work / f"image-{number}", work / f"disk-{number}", 400) as place:
                result = Run(account, case, f"fault-{number}", source, place).measure()
            (work / f"image-{number}").unlink()
            say(f"{number + 1}/{len(cases)} {result.case}: {result.measured:.1f} s, bar {result.bar}; {result.note}")
            results.append(result)
    results.sort(key=lambda result: result.measured - (result.bar or 0), reverse=True)
    return publish("faults", results, "make bench-faults")


if __name__ == "__main__":
    sys.exit(main())
