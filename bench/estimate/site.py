"""A local cloud with the machines and files of one scenario."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import memory
from bench.estimate.arithmetic import probed
from bench.estimate.scenarios import PROBE_SECONDS, Machine, Scenario
from bench.machine import DAEMON
from cli.figures import tell_figures
from local.caps import PairCap
from local.cloud import ASSEMBLY, LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized

# Its published figures are far above all caps here: they tell nothing, but what a share of a lent machine is.
RELAY_TYPE = "c6in.large"
RELAY_MB_S = 3.125e3 / 8
ESTIMATING = ("cpt-estimate-transfer", "cpt-estimate-request", "cpt-pre-test-relays", "cpt-measure-relays")
FLEET = ("cpt-decide-relays", "cpt-spawn-relays", "cpt-await-relays", "cpt-pre-test-relays", "cpt-join-relays")
MB = 1_000_000
# A transfer without relays takes minutes.
MOST_SECONDS = 600.0
# More calls than any scenario makes.
EVERY = 10_000


class ScenarioError(Exception):
    """A scenario could not be measured; the message says why."""


class Site:
    """What a user has who knows nothing of the network: two machines, files, and CPT."""

    def __init__(self, account: Account, scenario: Scenario, work: Path) -> None:
        self._account = account
        self._scenario = scenario
        self._work = work
        self._there = {"instanceId": account.destination, "region": OTHER}
        if scenario.in_zones:
            beside = account.cloud.launch_vm(HOME, "beside", scenario.end_types[1], zone=f"{HOME}b")
            self._there = {"instanceId": beside, "region": HOME}
        self.lent = [account.lend(region, RELAY_TYPE) for _ in range(scenario.lent_pairs) for region in (HOME, OTHER)]
        for function in ESTIMATING:
            account.configure(function, PRE_TEST_SECONDS=str(PROBE_SECONDS))
        self._warm()

    def allow(self, pairs: int) -> None:
        """The deployment's `maxPairs`."""
        for function in {*ESTIMATING, *FLEET}:
            self._account.configure(function, MAX_PAIRS=str(pairs))

    def _warm(self) -> None:
        """Start the fleet's functions, which refuse an empty event. Emulated VMs boot 30 times faster than real ones:
        what a cold start takes beside would be 30 times too much of T_v.
        """
        for function in FLEET:
            self._account.aws.client("lambda").invoke(FunctionName=function, Payload=b"{}")

    def estimate(self, pairs: int | str, most: int | None = None) -> dict[str, Any]:
        """What Estimate Request says of the scenario's size; `most`: the deployment's limit of pairs."""
        if most is not None:
            self._account.configure("cpt-estimate-request", MAX_PAIRS=str(most))
        request = self._request("never", relays={"pairs": pairs}, objective={"minimise": "time"})
        body = json.dumps({"request": request, "sizeBytes": self._scenario.size * MB}).encode()
        client = self._account.aws.client("lambda")
        answer = client.invoke(FunctionName="cpt-estimate-request", Payload=body)
        found: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise ScenarioError(f"Estimate Request: {found.get('errorType')}: {found.get('errorMessage')}")
        return found

    def measure(self) -> dict[str, Any]:
        """Report of the earlier transfer, from which the estimator learns."""
        pairs, size = self._scenario.measured_pairs, self._scenario.measured_size
        if self._scenario.links:
            # Only links that are known to be wide are used, so somebody has to measure them first.
            self._run(["links"], 1, profile="measure", relays={})
        return self._run(["measuring"], size, relays={"pairs": pairs}, preTest=pairs > 0)[0]

    def move(self, name: str, pairs: int | str, objective: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report of the scenario's own transfer."""
        wish: dict[str, Any] = {"objective": objective or {"minimise": "time"}}
        if self._scenario.pre_test:
            wish["preTest"] = True
        return self._run([name], self._scenario.size, relays={"pairs": pairs}, **wish)[0]

    def left_bytes(self, report: dict[str, Any]) -> int:
        """What a transfer sent out of its region: by its sender's own count, what was sent again included, and probes.

        What arrived is the least: the sender's last words may be missing.
        """
        delivered = (
            (self._account.record(report["transferId"], "transfer") or {}).get("outcome", {}).get("delivered", {})
        )
        sent = int(delivered.get("sentBytes", 0)) - int(delivered.get("savedBytes", 0))
        arrived: int = report["bytes"]
        return max(sent, arrived) + probed(report, PROBE_SECONDS)

    def counted(
        self, name: str, pairs: int | str, objective: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """As `move`, with the calls that it made."""
        before = self._account.cloud.calls()
        report = self.move(name, pairs, objective)
        after = self._account.cloud.calls()
        made = {what: count - before.get(what, 0.0) for what, count in after.items()}
        return report, {**made, "transitions": len(self._account.history(report["executionArn"]))}

    def counted_together(
        self, names: Sequence[str], pairs: int | str, objective: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, float]]:
        """Reports of several such transfers between the same ends at once, and the calls that all of them made."""
        before = self._account.cloud.calls()
        reports = self._run(names, self._scenario.size, relays={"pairs": pairs}, objective=objective)
        after = self._account.cloud.calls()
        made = {what: count - before.get(what, 0.0) for what, count in after.items()}
        transitions = sum(len(self._account.history(report["executionArn"])) for report in reports)
        return reports, {**made, "transitions": transitions}

    def small(self, name: str, size: int) -> dict[str, Any]:
        """Report of a transfer of so many MB, with as many relays as the estimate chooses."""
        return self._run([name], size, relays={"pairs": "auto"}, objective={"minimise": "time"})[0]

    def _run(self, names: Sequence[str], size: int, **more: Any) -> list[dict[str, Any]]:
        """Reports of transfers at once, of the same files to a place for each."""
        files = max(round(self._scenario.files * size / self._scenario.size), 1)
        make_files(self._work / "set", size * MB, files)
        memory.warm(self._work, size * MB)
        arns = [self._account.start(self._request(name, **more), name) for name in names]
        if self._scenario.dip:
            self._dip(names[0])
        runs = [self._account.wait(arn, MOST_SECONDS) for arn in arns]
        for name, run in zip(names, runs, strict=True):
            shutil.rmtree(self._work / name, ignore_errors=True)
            if run.status != "SUCCEEDED":
                raise ScenarioError(f"{name}: {run.error}: {run.cause}")
        return [run.report for run in runs]

    def _dip(self, name: str) -> None:
        """The network dips, counted from the first byte of a transfer."""
        self._account.cloud.wait_for(lambda: self._account.progress(name).get("firstByteAt"), 60)
        caps = {pair: PairCap.model_validate(cap) for pair, cap in between(self._scenario).items()}
        self._account.cloud.begin_changes(caps)

    def _request(self, name: str, *, relays: dict[str, Any], **more: Any) -> dict[str, Any]:
        relays = {"instanceTypes": relay_types(self._scenario), **relays}
        if through := self._scenario.regions[2:]:
            relays["through"] = list(through)
        if self.lent:
            relays |= {"existing": self.lent, "existingShare": self._scenario.lent_rate / RELAY_MB_S}
        target = self._work / name
        destination = {**self._there, "path": str(target)}
        request = self._account.request(self._work / "set", target, relays=relays, **more)
        return {**request, "destination": destination}


@contextmanager
def site(scenario: Scenario, work: Path, spawn_seconds: float | None = None) -> Iterator[Site]:
    """A cloud of its own, where nothing was ever measured; all of it is gone afterwards.

    `spawn_seconds`: T_v, where the deployment is told.
    """
    config = LocalConfig.model_validate(settings(scenario, make_image(work / "image")))
    assembly = synthesized(work / "assembly", scenario.regions) if scenario.links else ASSEMBLY
    with LocalCloud(config, work / "state", assembly) as cloud:
        account = Account(cloud, work, scenario.end_types)
        if spawn_seconds is not None:
            tell_figures(account.aws, f"{HOME}>{OTHER}", relay_types(scenario), {}, spawn_seconds)
        yield Site(account, scenario, work)


def settings(scenario: Scenario, image: Path) -> dict[str, Any]:
    """Of the local cloud: the scenario's caps by instance type. Nothing is put into the table of profiles."""
    machines = {
        scenario.end_types[0]: scenario.source,
        scenario.end_types[1]: scenario.destination,
        **dict.fromkeys(relay_types(scenario), scenario.relay),
    }
    refused = [{"region": region, "instanceType": RELAY_TYPE, "count": EVERY} for region in (HOME, OTHER)]
    launches = [
        {"tag": "cpt:role", "value": role, "every": slower.every, "factor": slower.factor}
        for slower in scenario.slower
        for role in ("source", "destination")
    ]
    return {
        "port": 0,
        "instances": "netns",
        "bootSeconds": scenario.boot_seconds,
        "image": str(image),
        "regions": list(scenario.regions),
        "caps": {
            "byType": {name: _caps(machine) for name, machine in machines.items()},
            "between": {pair: {"MBps": cap["MBps"]} for pair, cap in between(scenario).items()},
            "launches": launches,
        },
        "faults": refused if scenario.second_type else [],
    }


def relay_types(scenario: Scenario) -> list[str]:
    """What relays may be, the first choice first."""
    return [RELAY_TYPE, *([scenario.second_type] if scenario.second_type else [])]


def between(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """Caps of each machine between two regions: of links, or of a network that dips."""
    caps: dict[str, dict[str, Any]] = {
        f"{sender}>{receiver}": {"MBps": rate} for sender, receiver, rate in scenario.links
    }
    if dip := scenario.dip:
        rate = scenario.source.inter
        changes = [{"afterSeconds": dip.after, "factor": dip.share}, {"afterSeconds": dip.until, "factor": 1.0}]
        caps |= {pair: {"MBps": rate, "changes": changes} for pair in (f"{HOME}>{OTHER}", f"{OTHER}>{HOME}")}
    return caps


def _caps(machine: Machine) -> dict[str, Any]:
    caps: dict[str, Any] = {"interRegionMBps": machine.inter, "intraRegionMBps": machine.intra}
    if machine.credit:
        caps |= {"burstMBps": machine.credit.burst, "creditMB": machine.credit.size}
    if machine.changes:
        caps["changes"] = [{"afterSeconds": at, "factor": factor} for at, factor in machine.changes]
    return caps


def make_image(root: Path) -> Path:
    """An image that carries the daemon: otherwise all VMs of a launch fetch it at once, on two cores."""
    folder = root / "cpt" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DAEMON, folder / f"cpt-relay-{hashlib.sha256(DAEMON.read_bytes()).hexdigest()}")
    return root


def make_files(root: Path, size_bytes: int, files: int) -> None:
    """`files` files of one size in place of what was there; a single one is all holes."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for number in range(files):
        with (root / f"{number:06}").open("wb") as stream:
            stream.truncate(size_bytes // files)
