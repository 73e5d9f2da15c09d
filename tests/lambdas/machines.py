"""Machines in memory: EC2 that boots them, and SSM whose agents answer."""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from lambdas.adapters.records import (
    LEAST_DELIVERY_SECONDS,
    CommandResult,
    DocumentName,
    Instance,
    LaunchError,
    LaunchRequest,
    NotManagedError,
    OlderDocumentError,
)
from lambdas.core.seats.answers import Answer
from lambdas.core.seats.commands import USUAL, Command, Share, encode
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.clock import FakeClock

BOOT_SECONDS, AGENT_SECONDS = 3.0, 2.0


@dataclass
class Machine:
    instance: Instance
    transfer_id: str
    role: str
    launched: float
    boots: bool = True
    agent: bool = True


class MemoryCompute:
    """EC2 of one region; `shown_after` is in seconds.

    `refusals` maps an instance type, a zone or a market to EC2's error code.
    """

    def __init__(self, region: str, clock: FakeClock) -> None:
        self.region, self._clock = region, clock
        self.machines: dict[str, Machine] = {}
        self.refusals: dict[str, str] = {}
        self.quota = 99
        self.capacity: dict[str, int] = {}
        self.launches: list[LaunchRequest] = []
        self.terminated: list[str] = []
        self.on_launch: Callable[[], object] = lambda: None
        self.immortal = False
        self.shown_after = 0.0
        self._tokens: dict[str, list[str]] = {}

    def add(self, instance_id: str, private: str, public: str | None, *, state: str = "running") -> Machine:
        network = {WEST: "source", IRELAND: "destination"}.get(self.region, "transit")
        instance = Instance(
            instance_id, state, "m5.large", f"{self.region}a", f"vpc-{network}", f"subnet-{network}", private, public
        )
        self.machines[instance_id] = Machine(instance, "", "", -1000.0)
        return self.machines[instance_id]

    def lend(self, instance_id: str, private: str, public: str | None = None) -> Machine:
        """A machine of the user that relays may use."""
        machine = self.add(instance_id, private, public or private.replace("10.", "54.", 1))
        groups = frozenset({f"{machine.instance.vpc_id}/cpt-endpoint"})
        machine.instance = replace(machine.instance, lent_to="cpt", group_ids=groups, vcpus=2)
        return machine

    def describe(self, instance_ids: Iterable[str]) -> list[Instance]:
        return [self._now(self.machines[i]) for i in instance_ids if self._shows(i)]

    def of_transfer(self, transfer_id: str) -> list[Instance]:
        mine = [self._now(m) for m in list(self.machines.values()) if m.transfer_id == transfer_id]
        return [instance for instance in mine if not instance.gone]

    def of_deployment(self) -> list[Instance]:
        relays = [self._now(m) for m in list(self.machines.values()) if m.transfer_id]
        return [replace(i, transfer_id=self.machines[i.instance_id].transfer_id) for i in relays if not i.gone]

    def of_pool(self) -> list[Instance]:
        nodes = [self._now(m) for m in list(self.machines.values()) if m.role == "pool"]
        return [instance for instance in nodes if not instance.gone]

    def running(self) -> list[Instance]:
        instances = [self._now(machine) for machine in list(self.machines.values())]
        return [instance for instance in instances if instance.state in ("pending", "running")]

    def launch(self, request: LaunchRequest) -> list[Instance]:
        self.launches.append(request)
        if request.client_token not in self._tokens:
            self._tokens[request.client_token] = self._launch(request)
        self.on_launch()
        return [self.machines[i].instance for i in self._tokens[request.client_token]]

    def _launch(self, request: LaunchRequest) -> list[str]:
        zone = self._zone(request.subnet_id)
        for what in (request.instance_type, zone, "spot" if request.spot else "on-demand"):
            if code := self.refusals.get(what):
                raise LaunchError(code, "refused by the test")
        if (
            len([m for m in list(self.machines.values()) if m.transfer_id and not m.instance.gone]) + request.count
            > self.quota
        ):
            raise LaunchError("VcpuLimitExceeded", "refused by the test")
        ids = []
        for _ in range(min(request.count, self.capacity.get(request.instance_type, 99))):
            n = len(self.machines) + 1
            net = {WEST: 10, IRELAND: 11}.get(self.region, 12)
            machine = self.add(f"i-{net:x}{n:08x}", f"10.{net}.2.{n}", None, state="pending")
            machine.transfer_id, machine.role = request.transfer_id or "", request.role
            machine.launched = self._clock.time
            machine.instance = replace(
                machine.instance, instance_type=request.instance_type, availability_zone=zone, spot=request.spot
            )
            ids.append(machine.instance.instance_id)
        return ids

    def _zone(self, subnet_id: str) -> str:
        """`subnet-source` is in zone a, `subnet-source-b` in zone b."""
        return self.region + (subnet_id[-1] if subnet_id[-2] == "-" else "a")

    def terminate(self, instance_ids: Iterable[str]) -> None:
        for instance_id in instance_ids:
            self.terminated.append(instance_id)
            if self._shows(instance_id) and not self.immortal:
                machine = self.machines[instance_id]
                machine.instance = replace(machine.instance, state="shutting-down")

    def _shows(self, instance_id: str) -> bool:
        machine = self.machines.get(instance_id)
        return machine is not None and self._clock.time - machine.launched >= self.shown_after

    def _now(self, machine: Machine) -> Instance:
        booted = machine.boots and self._clock.time - machine.launched >= BOOT_SECONDS
        if machine.instance.state == "pending" and booted:
            public = machine.instance.private_address.replace("10.", "54.", 1)
            machine.instance = replace(machine.instance, state="running", public_address=public)
        return machine.instance


# Without a result, the command runs until `end`.
Script = Callable[[Command | None], CommandResult | None]


def printed(value: object) -> CommandResult:
    return CommandResult(True, "Success", f"some log\n{json.dumps(value)}\n", "")


# A daemon that has logged nothing.
QUIET = CommandResult(True, "Success", "", "")


def failed(error: str, status: str = "Failed") -> CommandResult:
    return CommandResult(False, status, "", error)


class MemoryCommands:
    """SSM of one region; `scripts` says what a document does, by (document, instance) or by document."""

    def __init__(self, compute: MemoryCompute, clock: FakeClock) -> None:
        self._compute, self._clock = compute, clock
        self.answers: dict[tuple[str, str], Answer] = {}
        """What units have written into the table, by partition and id."""
        self._places: dict[str, tuple[str, str]] = {}
        self.scripts: dict[tuple[str, str] | str, Script] = {}
        self.sent: list[tuple[DocumentName, str, Command | None]] = []
        self.shares: dict[tuple[DocumentName, str], Share] = {}
        self.shown: set[str] = set()
        self.busy: set[str] = set()
        """Machines whose agent has no worker free: no command is started, until `free`."""
        self.older = False
        """The documents are of a version that knows of no answers."""
        self.cancelled: list[str] = []
        self.given: list[float] = []
        """Seconds that each command had to be started."""
        self._waiting: list[tuple[str, str, Command | None]] = []
        self._results: dict[str, dict[str, CommandResult | None]] = {}

    def online(self, instance_ids: Iterable[str]) -> set[str]:
        """As SSM shows them; a machine that has ended is shown for some minutes."""
        return self._answer(instance_ids) | self.shown.intersection(instance_ids)

    def _answer(self, instance_ids: Iterable[str]) -> set[str]:
        ready = BOOT_SECONDS + AGENT_SECONDS
        machines = {i: self._compute.machines[i] for i in instance_ids if i in self._compute.machines}
        return {
            i
            for i, m in machines.items()
            if m.agent and m.instance.state == "running" and self._clock.time - m.launched >= ready
        }

    def send(
        self,
        document: DocumentName,
        instance_ids: Sequence[str],
        transfer_id: str,
        command: Command | None,
        share: Share = USUAL,
        seconds: float = LEAST_DELIVERY_SECONDS,
        answer: str | None = None,
    ) -> str:
        if self._answer(instance_ids) != set(instance_ids):
            raise NotManagedError(", ".join(instance_ids))
        if self.older and answer is not None:
            raise OlderDocumentError("Parameter Answer is not defined in the document")
        decoded = None
        if command is not None:
            text = encode(command)
            decoded = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        command_id = f"command-{len(self._results) + 1}-{self._compute.region}"
        results = self._results.setdefault(command_id, {})
        self.given.append(seconds)
        assert answer is None or document in ("scan", "delete", "probe")
        if answer is not None:
            _, _, shared, answer_id = answer.split(" ")
            self._places[command_id] = (shared, answer_id)
        for instance_id in instance_ids:
            self.sent.append((document, instance_id, decoded))
            self.shares[document, instance_id] = share
            script = self.scripts.get((document, instance_id)) or self.scripts.get(document)
            results[instance_id] = None
            usual = QUIET if document == "log" else printed({"ok": True})
            if instance_id in self.busy:
                self._waiting.append((command_id, instance_id, decoded))
            else:
                self._begin(command_id, instance_id, script(decoded) if script else usual)
        return command_id

    @property
    def places(self) -> list[tuple[str, str]]:
        """Where answers are awaited."""
        return list(self._places.values())

    @property
    def commands(self) -> int:
        """How many were sent, to however many machines each."""
        return len(self._results)

    def ended(self, command_id: str) -> dict[str, CommandResult]:
        results = self._results[command_id].items()
        return {instance_id: replace(result, output="", error="") for instance_id, result in results if result}

    def result(self, command_id: str, instance_id: str) -> CommandResult | None:
        return self._results[command_id][instance_id]

    def started(self, command_id: str, instance_id: str) -> bool:
        return (command_id, instance_id) not in [waiting[:2] for waiting in self._waiting]

    def cancel(self, command_id: str, instance_id: str) -> None:
        self.cancelled.append(command_id)

    def free(self, instance_id: str, document: DocumentName) -> None:
        """Its agent runs the commands that wait, which are of this document."""
        self.busy.discard(instance_id)
        script = self.scripts.get((document, instance_id)) or self.scripts.get(document)
        for command_id, machine, decoded in self._waiting:
            if machine == instance_id:
                self._begin(command_id, machine, script(decoded) if script else printed({"ok": True}))
        self._waiting = [waiting for waiting in self._waiting if waiting[1] != instance_id]

    def end(self, command_id: str, result: CommandResult) -> None:
        for instance_id in self._results[command_id]:
            self._begin(command_id, instance_id, result)

    def _begin(self, command_id: str, instance_id: str, result: CommandResult | None) -> None:
        """A document that answers in the table has ended once its unit is started; the unit may go on."""
        place = self._places.get(command_id)
        if place and (result is None or result.started):
            if result is not None:
                code, lines = 0 if result.succeeded else 1, result.output.splitlines()
                self.answers[place] = Answer(code=code, output=lines[-1] if lines else "", error=result.error)
            result = printed({"started": "unit"})
        self._results[command_id][instance_id] = result
