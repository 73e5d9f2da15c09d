"""One transfer with one fault or several, and the time that it may take."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from bench.faults.cases import CUT_SECONDS, RELAYS, STALL_SECONDS, Case
from bench.faults.machines import METADATA, Machine, frozen_disk
from bench.results import Result
from lambdas.core.models.zero_wait import Serving, zero_wait
from local.config import Fault
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import tree

CAP, INSIDE = 8.0, 60.0
CLOCKS = {"clock an hour ahead": 3600, "clock an hour behind": -3600}
DIRECT_SLACK_SECONDS = 10.0
"""Never more than the direct path alone and so much for each fault."""


class Injected(NamedTuple):
    """A case, and when it happened."""

    case: Case
    at: float


class Run:
    """One transfer with faults, each at its moment, one after the other."""

    def __init__(self, account: Account, cases: Sequence[Case], name: str, source: Path, place: Path) -> None:
        self.account, self.cases, self.name, self.source, self.place = account, cases, name, source, place
        self.megabytes = sum(file.stat().st_size for file in source.rglob("*") if file.is_file()) / 1e6

    def measure(self, title: str) -> list[Result]:
        """Run it; the note has what the bound was made of."""
        request = self.account.request(self.source, self.place / "out", relays={"pairs": self.cases[0].pairs})
        arn = self.account.start(request, self.name)
        injected = []

        def is_over() -> bool:
            return bool(self.account.describe(arn)["status"] != "RUNNING")

        for case in self.cases:
            self._wait_for(case, is_over)
            if not is_over():
                injected.append(Injected(case, time.time()))
                self._inject(case, is_over)
        run = self.account.wait(arn, 900)
        if run.status != "SUCCEEDED" or tree(self.place / "out" / self.source.name) != tree(self.source):
            return [Result(title, 0, "identical", 1, "higher", f"{run.error}: {run.cause}")]
        if all(case.fault.is_waiting for case in self.cases) and (
            run.report.get("retries") or run.report["replacements"]
        ):
            cost = f"{run.report.get('retries')} retries, replaced: {run.report['replacements']}"
            return [Result(title, 0, "no relay or attempt lost", 1, "higher", cost)]
        bound, model = self._bound(run.report, injected)
        seconds = run.report["seconds"]["transfer"]
        extra = {key: run.report[key] for key in ("retries", "restarts", "hedgedBytes") if run.report.get(key)}
        if len(injected) < len(self.cases):
            extra["too late"] = len(self.cases) - len(injected)
        return [Result(title, seconds, "s", round(bound, 1), note=f"model {model:.1f} s {extra or ''}".strip())]

    def _bound(self, report: dict[str, Any], injected: Sequence[Injected]) -> tuple[float, float]:
        """Seconds that it may take, and the zero-wait model's with the capacity that was missing."""
        first = self.account.first_byte_at(self.name)
        joins: dict[int, float] = {}
        for node in report["nodes"]:
            if "joinedAt" in node and node["generation"] == 0:
                joins[node["slot"]] = max(joins.get(node["slot"], 0.0), node["joinedAt"] - first)
        serving = []
        for name, joined in [("direct", 0.0), *((f"pair-{slot}", at) for slot, at in joins.items())]:
            away = [
                (max(at - first, 0.0), max(at - first, 0.0) + case.fault.away_seconds)
                for case, at in injected
                if case.fault.away_seconds and (case.party not in RELAYS or name == "pair-1")
            ]
            serving += _without(joined, away)
        # Whatever the model says of the rest, no transfer ends before an end is back that it has lost.
        back = [at - first + case.fault.away_seconds for case, at in injected if case.party not in RELAYS]
        model = max(zero_wait(self.megabytes, serving, INSIDE, INSIDE), *back, 0.0)
        under_way = 16.0 / (CAP * (1 + self.cases[0].pairs))  # two chunks of 8 MB
        ends_away = sum(case.fault.away_seconds for case, _ in injected if case.party not in RELAYS)
        direct = self.megabytes / CAP + ends_away + DIRECT_SLACK_SECONDS * max(len(injected), 1)
        allowed = sum(case.fault.allowed_seconds + under_way for case, _ in injected)
        return min(model + allowed, direct) if injected else direct, model

    def _wait_for(self, case: Case, is_over: Callable[[], bool]) -> None:
        """Wait for the moment of a case, or the end of the transfer."""
        cloud, account, name = self.account.cloud, self.account, self.name

        def delivered() -> list[int]:
            return [int(chunk["bytes"]) for chunk in account.chunks(name) if chunk["state"] == "DELIVERED"]

        def joined() -> list[dict[str, Any]]:
            return [node for node in account.nodes(name) if "joinedAt" in node]

        share = {"half": 0.5, "near the end": 0.9}.get(case.moment)
        if case.moment == "before the join":
            cloud.wait_for(lambda: is_over() or account.progress(name)["sequence"] > 0, 120)
        elif case.moment == "after the join":
            cloud.wait_for(lambda: is_over() or len(joined()) >= 2 * case.pairs, 120)
        elif share is not None:
            cloud.wait_for(lambda: is_over() or sum(delivered()) >= share * self.megabytes * 1e6, 240)
        else:
            cloud.wait_for(lambda: is_over() or len(delivered()) >= len(account.chunks(name)) - 2 > 0, 240)

    def _machine(self, case: Case) -> Machine:
        if case.party == "sender":
            return Machine(self.account, self.account.source, HOME)
        if case.party == "receiver":
            return Machine(self.account, self.account.destination, OTHER)
        node = next(node for node in self.account.nodes(self.name) if node["nodeId"] == case.party)
        return Machine(self.account, str(node["instanceId"]), str(node["region"]))

    def _inject(self, case: Case, is_over: Callable[[], bool]) -> None:
        name = case.fault.name
        if name == "dies after its work":
            spoilt = {"operation": "Invoke", "region": HOME, "function": case.party, "code": "Sandbox.Timedout"}
            self.account.cloud.spoil(Fault.model_validate(spoilt))
            return
        machine = self._machine(case)
        if machine.namespace is None:
            return  # relays that are not needed any more have left
        during: dict[str, tuple[float, AbstractContextManager[Any]]] = {
            "cut off": (CUT_SECONDS, machine.dropping("in iifname eth0", "out oifname eth0")),
            "hears nothing": (CUT_SECONDS, machine.dropping("in iifname eth0")),
            "is not heard": (CUT_SECONDS, machine.dropping("out oifname eth0")),
            "slow": (CUT_SECONDS, machine.dropping(f"out oifname eth0 limit rate over {CAP * 100:.0f} kbytes/second")),
            "without AWS": (case.fault.away_seconds, machine.dropping("out ip daddr 127.0.0.1")),
            "without credentials": (STALL_SECONDS, machine.dropping(f"out ip daddr {METADATA}")),
            "short of memory": (CUT_SECONDS, machine.short_of_memory()),
            "disk stalls": (
                case.fault.away_seconds,
                frozen_disk(self.place) if case.party == "receiver" else nullcontext(),
            ),
        }
        if name == "killed":
            machine.signal("KILL")
        elif name == "frozen":
            machine.signal("STOP")
        elif name == "machine gone":
            machine.terminate()
        elif name in CLOCKS:
            machine.set_clock(CLOCKS[name])
        else:
            seconds, fault = during[name]
            end = time.monotonic() + seconds
            with fault:
                while time.monotonic() < end and not is_over():
                    time.sleep(0.1)


def _without(joined: float, away: Sequence[tuple[float, float]]) -> list[Serving]:
    """A path that carries nothing between these moments."""
    parts, since = [], joined
    for begin, end in sorted(away):
        if begin > since:
            parts.append(Serving(CAP, since, begin))
        since = max(since, end)
    return [*parts, Serving(CAP, since)]
