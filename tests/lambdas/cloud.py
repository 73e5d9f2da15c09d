"""A cloud in memory: machines that boot, agents that answer, and a clock that only moves when somebody waits."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lambdas.adapters.memory import (
    MemoryAgentRecords,
    MemoryChunkStore,
    MemoryNodeStore,
    MemoryPathLocks,
    MemoryProfileStore,
    MemoryTokenStore,
    MemoryTransferStore,
)
from lambdas.adapters.memory_market import (
    MemoryInstanceTypes,
    MemoryPriceCache,
    MemoryPriceList,
    MemoryQuotas,
    MemorySpotMarket,
)
from lambdas.adapters.records import CommandResult, DocumentName, Instance, LaunchError, LaunchRequest, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.commands import Command, encode
from lambdas.core.launch_plan import Subnet
from lambdas.core.measures import MeasureName
from lambdas.core.rules import Rule
from lambdas.runtime.env import DaemonAsset, Environment
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST

BOOT_SECONDS, AGENT_SECONDS = 3.0, 2.0
MACHINE = "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer"


class FakeClock:
    """Time passes only in `sleep`; `at` runs something when its second has come."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for due in [entry for entry in self._due if entry[0] <= self.time]:
            self._due.remove(due)
            due[1]()

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        self._due.append((self.time + seconds, action))


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
        self.on_launch: Callable[[], None] = lambda: None
        self.immortal = False
        self.shown_after = 0.0
        self._tokens: dict[str, list[str]] = {}

    def add(self, instance_id: str, private: str, public: str | None, *, state: str = "running") -> Machine:
        network = "source" if self.region == WEST else "destination"
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
        mine = [self._now(m) for m in self.machines.values() if m.transfer_id == transfer_id]
        return [instance for instance in mine if not instance.gone]

    def of_deployment(self) -> list[Instance]:
        relays = [self._now(m) for m in self.machines.values() if m.transfer_id]
        return [replace(i, transfer_id=self.machines[i.instance_id].transfer_id) for i in relays if not i.gone]

    def running(self) -> list[Instance]:
        instances = [self._now(machine) for machine in self.machines.values()]
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
            len([m for m in self.machines.values() if m.transfer_id and not m.instance.gone]) + request.count
            > self.quota
        ):
            raise LaunchError("VcpuLimitExceeded", "refused by the test")
        ids = []
        for _ in range(min(request.count, self.capacity.get(request.instance_type, 99))):
            n = len(self.machines) + 1
            net = 10 if self.region == WEST else 11
            machine = self.add(f"i-{net:x}{n:08x}", f"10.{net}.2.{n}", None, state="pending")
            machine.transfer_id, machine.role, machine.launched = request.transfer_id, request.role, self._clock.time
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


def failed(error: str, status: str = "Failed") -> CommandResult:
    return CommandResult(False, status, "", error)


class MemoryCommands:
    """SSM of one region; `scripts` says what a document does, by (document, instance) or by document."""

    def __init__(self, compute: MemoryCompute, clock: FakeClock) -> None:
        self._compute, self._clock = compute, clock
        self.scripts: dict[tuple[str, str] | str, Script] = {}
        self.sent: list[tuple[DocumentName, str, Command | None]] = []
        self.quotas: dict[str, int | None] = {}
        self._results: dict[str, CommandResult | None] = {}

    def online(self, instance_ids: Iterable[str]) -> set[str]:
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
        instance_id: str,
        transfer_id: str,
        command: Command | None,
        cpu_percent: int | None = None,
    ) -> str:
        if instance_id not in self.online([instance_id]):
            raise NotManagedError(instance_id)
        decoded = None
        if command is not None:
            text = encode(command)
            decoded = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        self.sent.append((document, instance_id, decoded))
        self.quotas[instance_id] = cpu_percent
        script = self.scripts.get((document, instance_id)) or self.scripts.get(document)
        command_id = f"command-{len(self.sent)}"
        self._results[command_id] = script(decoded) if script else printed({"ok": True})
        return command_id

    def result(self, command_id: str, _instance_id: str) -> CommandResult | None:
        return self._results[command_id]

    def end(self, command_id: str, result: CommandResult) -> None:
        self._results[command_id] = result


@dataclass
class MemorySubnets:
    """Subnets of one region: two in each VPC, in different zones; the first is its end machine's."""

    region: str
    zones: str = "ab"
    public: bool = True

    def of_vpc(self, vpc_id: str) -> list[Subnet]:
        name = vpc_id.replace("vpc", "subnet")
        return [
            Subnet(name if zone == "a" else f"{name}-{zone}", f"{self.region}{zone}", self.public)
            for zone in self.zones
        ]


class MemoryGroups:
    """Security groups of one region: those of the deployment in both VPCs."""

    def __init__(self, names: tuple[str, ...] = ("cpt-endpoint", "cpt-relay")) -> None:
        self.names = names
        self.admitted: list[Rule] = []

    def find(self, name: str, vpc_id: str) -> str | None:
        return f"{vpc_id}/{name}" if name in self.names else None

    def admit(self, group_id: str, address: str, port: int, transfer_id: str) -> None:
        if not any((rule.group_id, rule.address, rule.port) == (group_id, address, port) for rule in self.admitted):
            self.admitted.append(Rule(group_id, f"sgr-{len(self.admitted)}", address, port, transfer_id))

    def rules(self) -> list[Rule]:
        return list(self.admitted)

    def revoke(self, rules: Iterable[Rule]) -> None:
        gone = {rule.rule_id for rule in rules}
        self.admitted = [rule for rule in self.admitted if rule.rule_id not in gone]


@dataclass
class MemoryObjects:
    objects: dict[str, bytes] = field(default_factory=dict)

    def put(self, key: str, body: bytes) -> None:
        self.objects[key] = body

    def read(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def lines(self, key: str) -> Iterator[bytes]:
        yield from self.objects[key].splitlines()

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)


@dataclass
class MemoryEvents:
    put_events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def put(self, kind: str, detail: dict[str, Any]) -> None:
        self.put_events.append((kind, detail))


@dataclass
class MemoryLetters:
    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, subject: str, text: str) -> None:
        self.sent.append((subject, text))


@dataclass
class MemoryMeasures:
    """Sums by name."""

    sums: dict[str, float] = field(default_factory=dict)

    def put(self, measured: Mapping[MeasureName, float]) -> None:
        for name, value in measured.items():
            self.sums[name] = self.sums.get(name, 0.0) + value


@dataclass
class MemoryExecutions:
    """Step Functions; a token among `over` is one that nobody waits for any more."""

    over: set[str] = field(default_factory=set)
    answers: list[tuple[str, Any]] = field(default_factory=list)
    statuses: dict[str, str | None] = field(default_factory=dict)
    started: dict[str, Any] = field(default_factory=dict)

    def start(self, name: str, request: Any) -> str:
        self.started.setdefault(name, request)
        return f"{MACHINE.replace(':stateMachine:', ':execution:')}:{name}"

    def succeed(self, token: str, output: dict[str, Any]) -> bool:
        self.answers.append(("success", (token, output)))
        return token not in self.over

    def fail(self, token: str, error: str, cause: str) -> bool:
        self.answers.append(("failure", (token, error, cause)))
        return token not in self.over

    def heartbeat(self, token: str) -> bool:
        self.answers.append(("heartbeat", token))
        return True

    def stop(self, execution_arn: str, _error: str, _cause: str) -> None:
        self.statuses[execution_arn] = "ABORTED"

    def status(self, execution_arn: str) -> str | None:
        return self.statuses.get(execution_arn, "RUNNING")


class Cloud:
    """Two regions with an end machine each."""

    def __init__(self, **settings: Any) -> None:
        self.clock = FakeClock()
        self.compute = {region: MemoryCompute(region, self.clock) for region in (WEST, IRELAND)}
        self.commands = {region: MemoryCommands(self.compute[region], self.clock) for region in (WEST, IRELAND)}
        self.groups = {region: MemoryGroups() for region in (WEST, IRELAND)}
        self.subnets = {region: MemorySubnets(region) for region in (WEST, IRELAND)}
        self.compute[WEST].add(SOURCE_ID, "10.10.0.1", "54.0.0.1")
        self.compute[IRELAND].add(DESTINATION_ID, "10.11.0.1", "54.1.0.1")
        self.transfers, self.locks, self.agents = MemoryTransferStore(), MemoryPathLocks(), MemoryAgentRecords()
        self.chunks, self.nodes, self.profiles = MemoryChunkStore(), MemoryNodeStore(), MemoryProfileStore()
        self.tokens, self.objects, self.events = MemoryTokenStore(), MemoryObjects(), MemoryEvents()
        self.executions, self.letters, self.measures = MemoryExecutions(), MemoryLetters(), MemoryMeasures()
        self.price_list, self.price_cache = MemoryPriceList(), MemoryPriceCache()
        self.spot_market = {region: MemorySpotMarket() for region in (WEST, IRELAND)}
        self.instance_types = {region: MemoryInstanceTypes() for region in (WEST, IRELAND)}
        self.quotas = {region: MemoryQuotas() for region in (WEST, IRELAND)}
        self.world = World(
            env=replace(ENVIRONMENT, **settings),
            transfers=self.transfers,
            locks=self.locks,
            agents=self.agents,
            chunks=self.chunks,
            nodes=self.nodes,
            profiles=self.profiles,
            tokens=self.tokens,
            compute=lambda region: self.compute[region],
            commands=lambda region: self.commands[region],
            groups=lambda region: self.groups[region],
            subnets=lambda region: self.subnets[region],
            objects=self.objects,
            events=self.events,
            letters=self.letters,
            measures=self.measures,
            executions=self.executions,
            clock=self.clock,
            price_list=self.price_list,
            price_cache=self.price_cache,
            spot_market=lambda region: self.spot_market[region],
            instance_types=lambda region: self.instance_types[region],
            quotas=lambda region: self.quotas[region],
        )

    def alive(self) -> list[str]:
        """Ids of relays that are not terminated."""
        machines = [machine for compute in self.compute.values() for machine in compute.machines.values()]
        return [m.instance.instance_id for m in machines if m.transfer_id and not m.instance.gone]


ENVIRONMENT = Environment(
    deployment="cpt",
    home_region=WEST,
    regions=(WEST, IRELAND),
    instance_types=("t3.small", "t3.medium"),
    max_pairs=8,
    max_cost_usd=None,
    pre_test_seconds=2.0,
    relay_time_to_live_seconds=900,
    chunk_retention_seconds=32 * 86_400,
    inter_region_path="internet",
    transfers_table="cpt-transfers",
    chunks_table="cpt-chunks",
    nodes_table="cpt-nodes",
    profiles_table="cpt-profiles",
    control_tokens_table="cpt-control-tokens",
    idempotency_table="cpt-idempotency",
    control_bucket="cpt-control-000000000000-us-west-2",
    event_bus="cpt",
    approval_topic="arn:aws:sns:us-west-2:000000000000:cpt-approvals",
    state_machine=MACHINE,
    daemon_assets={region: {"x86_64": DaemonAsset(f"s3://assets-{region}/d", "0" * 64)} for region in (WEST, IRELAND)},
    subnet_ids={},
    poll_seconds=1.0,
)
