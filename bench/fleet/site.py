"""A local cloud whose relays differ, and transfers through it."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import memory
from bench.estimate.scenarios import DESTINATION_TYPE, SOURCE_TYPE, Machine
from bench.estimate.site import FLEET, RELAY_TYPE, make_image
from bench.fleet.draws import Fleet
from bench.machine import workspace
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account, Run

MB = 1_000_000
FAR_TYPE = "m6in.large"
POLL_SECONDS = 0.1
"""VMs boot 10 to 80 times faster than real ones, so the control plane looks more often too (1 s on AWS)."""

FIRST_SIZE = 30


class CaseError(Exception):
    """A case could not be measured; the message says why."""


@dataclass(frozen=True)
class Options:
    """What a case is told."""

    seed: int
    quick: bool


@dataclass(frozen=True)
class Machines:
    """Caps of the ends and of the relays' type, and the fleets that differ from it: what the emulation alone knows.

    `boot_seconds`: from launch to a system that is up; `probe_seconds`: the deployment's `preTestSeconds`.
    """

    ends: Machine
    relay: Machine
    boot_seconds: float = 1.0
    probe_seconds: float = 1.0
    fleets: tuple[Fleet, ...] = ()
    far: Machine | None = None
    """Caps of the relays of `FAR_TYPE`, where a case has some."""
    receiver: Machine | None = None
    """Caps of the destination, where they are not those of the source."""

    def settings(self, image: Path) -> dict[str, Any]:
        """Of the local cloud."""
        types = {SOURCE_TYPE: self.ends, DESTINATION_TYPE: self.receiver or self.ends, RELAY_TYPE: self.relay}
        types |= {FAR_TYPE: self.far} if self.far else {}
        sides = [(one, *side) for one in self.fleets for side in ((HOME, one.sources), (OTHER, one.destinations))]
        launches = [
            {"tag": "cpt:transfer", "value": one.transfer, "region": region, "factor": list(factors)}
            for one, region, factors in sides
        ]
        by_type = {
            name: {"interRegionMBps": machine.inter, "intraRegionMBps": machine.intra}
            for name, machine in types.items()
        }
        return {
            "port": 0,
            "instances": "netns",
            # Making a machine takes this one's processors, the database's among them: not in the first second of data.
            "launchSeconds": self.boot_seconds,
            "bootSeconds": 0,
            "image": str(image),
            "caps": {"byType": by_type, "launches": launches},
        }


class Site:
    """Two machines, one file, and CPT."""

    def __init__(self, account: Account, work: Path, probe_seconds: float) -> None:
        self.account = account
        self.file = work / "set" / "file"
        self._work = work
        for function in FLEET:
            account.configure(function, PRE_TEST_SECONDS=str(probe_seconds), POLL_SECONDS=str(POLL_SECONDS))
            # It refuses an empty event, and is warm: a cold start is not that much faster.
            account.aws.client("lambda").invoke(FunctionName=function, Payload=b"{}")

    def begin(self) -> None:
        """A transfer that nobody counts: both ends fetch the daemon, every function starts."""
        self.fill(FIRST_SIZE)
        self.move("first", 1)

    def fill(self, size: int) -> None:
        """Make a file of `size` MB, all holes, and memory for its copy."""
        self.file.parent.mkdir(exist_ok=True)
        with self.file.open("wb") as stream:
            stream.truncate(size * MB)
        memory.warm(self._work, size * MB)

    def start(self, name: str, pairs: int | Mapping[str, int], *, pre_test: bool = False, **request: object) -> str:
        """Start a transfer of the file with so many pairs, or relays by side; the execution's ARN.

        `request`: keys that have other values than usual.
        """
        keys: dict[str, Any] = {"relays": {"pairs": pairs, "instanceTypes": [RELAY_TYPE]}, **request}
        request = self.account.request(self.file.parent, self._work / name, preTest=pre_test, **keys)
        return self.account.start(request, name)

    def finish(self, arn: str) -> Run:
        """Wait for its end. Raises CaseError if it failed."""
        run = self.account.wait(arn)
        if run.status != "SUCCEEDED":
            raise CaseError(f"{arn.rpartition(':')[2]}: {run.error}: {run.cause}")
        return run

    def arrived(self, name: str) -> Path:
        """The copy of the file."""
        return self._work / name / "set" / "file"

    def forget(self, name: str) -> None:
        """Remove what arrived."""
        shutil.rmtree(self._work / name, ignore_errors=True)

    def move(self, name: str, pairs: int | Mapping[str, int], *, pre_test: bool = False) -> Run:
        """A whole transfer; what arrived is removed."""
        run = self.finish(self.start(name, pairs, pre_test=pre_test))
        self.forget(name)
        return run


@contextmanager
def site(machines: Machines) -> Iterator[Site]:
    """A cloud of its own, where nothing was ever measured; all of it is gone afterwards."""
    with workspace("cpt-fleet-") as work:
        config = LocalConfig.model_validate(machines.settings(make_image(work / "image")))
        with LocalCloud(config, work / "state") as cloud:
            account = Account(cloud, work, (SOURCE_TYPE, DESTINATION_TYPE))
            yield Site(account, work, machines.probe_seconds)
