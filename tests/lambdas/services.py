"""The other services in memory: networks, objects, events, letters, measures, executions."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lambdas.core.errors import MissingPermission
from lambdas.core.fleet.firewall import Rule
from lambdas.core.fleet.launch_plan import Subnet, Way
from lambdas.core.metrics import MetricName
from lambdas.core.seats.credentials import SeatCredentials
from lambdas.core.watch.overview import Execution, Running
from lambdas.core.watch.transfer_state import TransferState
from tests.lambdas.clock import FakeClock

MACHINE = "arn:aws:states:us-west-2:000000000000:stateMachine:cpt-transfer"


@dataclass
class MemorySubnets:
    """Subnets of one region: two in each VPC, in different zones; the first is its end machine's.

    `block`: the addresses of each, where the regions are joined by private ones.
    """

    region: str
    zones: str = "ab"
    public: bool = True
    block: str = ""
    ways: tuple[Way, ...] = ()

    def of_vpc(self, vpc_id: str) -> list[Subnet]:
        name = vpc_id.replace("vpc", "subnet")
        return [
            Subnet(
                name if zone == "a" else f"{name}-{zone}", f"{self.region}{zone}", self.public, self.block, self.ways
            )
            for zone in self.zones
        ]


class MemoryGroups:
    """Security groups of one region: those of the deployment in both VPCs."""

    def __init__(self, names: tuple[str, ...] = ("cpt-endpoint", "cpt-relay"), vpc_id: str = "vpc-transit") -> None:
        self.names = names
        self.vpc_id = vpc_id
        self.admitted: list[Rule] = []

    def find(self, name: str, vpc_id: str) -> str | None:
        return f"{vpc_id}/{name}" if name in self.names else None

    def vpc_of(self, name: str) -> str | None:
        return self.vpc_id if name in self.names else None

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

    def size(self, key: str) -> int | None:
        return len(self.objects[key]) if key in self.objects else None

    def lines(self, key: str) -> Iterator[bytes]:
        yield from self.objects[key].splitlines()

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def delete(self, keys: Iterable[str]) -> int:
        wanted = list(keys)
        for key in wanted:
            self.objects.pop(key, None)
        return len(wanted)


@dataclass
class MemoryEvents:
    put_events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def put(self, kind: str, detail: dict[str, Any]) -> None:
        self.put_events.append((kind, detail))

    def tell_pool(self, transfer_id: str) -> None:
        self.put("Pool Leased", {"transferId": transfer_id})


@dataclass
class MemoryNotifications:
    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, subject: str, text: str) -> None:
        self.sent.append((subject, text))


@dataclass
class MemoryMetrics:
    """Sums by name."""

    sums: dict[str, float] = field(default_factory=dict)

    def put(self, measured: Mapping[MetricName, float]) -> None:
        for name, value in measured.items():
            self.sums[name] = self.sums.get(name, 0.0) + value


@dataclass
class MemoryWatchedTransfers:
    """Transfers as people watch them; tests say how they are."""

    states: list[TransferState] = field(default_factory=list)

    def running(self, prefix: str = "") -> Running:
        own = (state for state in self.states if state.transfer_id.startswith(prefix))
        running = [state for state in own if state.status == "ACTIVE"]
        return Running(running, len(running))

    def transfer(self, transfer_id: str) -> TransferState | None:
        return next((state for state in self.states if state.transfer_id == transfer_id), None)


@dataclass
class MemorySessions:
    """STS: each session has keys of its own. `missing`: why none can be had."""

    clock: FakeClock
    missing: str | None = None
    asked: list[tuple[str, str, dict[str, Any], int]] = field(default_factory=list)

    def assume(self, role: str, name: str, policy: str, seconds: int) -> SeatCredentials:
        if self.missing:
            raise MissingPermission(self.missing)
        self.asked.append((role, name, json.loads(policy), seconds))
        key, secret, token = (f"{word}-{len(self.asked)}" for word in ("ASIASECRET", "secret-key", "secret-token"))
        return SeatCredentials(key, secret, token, expires_at=self.clock.now() + seconds)


@dataclass
class MemoryExecutions:
    """Step Functions; a token among `over` is one that nobody waits for any more."""

    over: set[str] = field(default_factory=set)
    answers: list[tuple[str, Any]] = field(default_factory=list)
    statuses: dict[str, str | None] = field(default_factory=dict)
    started: dict[str, Any] = field(default_factory=dict)
    tenants: dict[str, str | None] = field(default_factory=dict)
    stopped: dict[str, tuple[str, str]] = field(default_factory=dict)
    over_executions: list[Execution] = field(default_factory=list)

    def ended(self, most: int, tenant: str | None = None) -> list[Execution]:
        own = [one for one in self.over_executions if tenant is None or self.tenants.get(one.name) == tenant]
        return own[:most]

    def start(self, name: str, request: Any, tenant: str | None = None) -> str:
        self.started.setdefault(name, request)
        self.tenants.setdefault(name, tenant)
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

    def stop(self, execution_arn: str, error: str, cause: str) -> None:
        self.statuses[execution_arn] = "ABORTED"
        self.stopped[execution_arn] = (error, cause)

    def alias(self, execution_arn: str) -> str | None:
        tenant = self.tenants.get(execution_arn.rpartition(":")[2])
        return f"{MACHINE}:{tenant}" if tenant else None

    def why(self, execution_arn: str) -> tuple[str, str]:
        return self.stopped.get(execution_arn, ("", ""))

    def status(self, execution_arn: str) -> str | None:
        return self.statuses.get(execution_arn, "RUNNING")
