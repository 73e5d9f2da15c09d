"""A local cloud with a standing pool, and users who each have a machine in both regions."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench.estimate.site import make_image
from bench.hdfs import buffers
from bench.machine import workspace
from bench.pool.real.counting import Counter, close_direct, namespace_of
from lambdas.adapters.ec2 import POOL_TAG
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized

# AWS publishes 4 and 391 MB/s for these: the pool's own nodes are what limits, and one at the other side is none.
NODE_TYPE, WIDE_TYPE = "t3.nano", "c6in.large"
NODE_MB_S = 4.0
NODES = 5
END_TYPE, RECEIVER_TYPE, SLOW_TYPE = "c6in.xlarge", "m6in.xlarge", "c6in.2xlarge"
INSIDE_MB_S = 200.0
# Of an end's way past the pool, where it is open.
DIRECT_MB_S = 2.0
SLOW_MB_S = 1.0
USERS = 5
FUNCTIONS = ("decide-relays", "spawn-relays", "await-relays", "join-relays", "keep-pool")


class PoolError(Exception):
    """A case could not be measured; the message says why."""


@dataclass(frozen=True)
class Layout:
    """What stands there: nodes of the home region and of the other one, and terms of tenants.

    `factors`: what each node of the home region, in the order of their launches, has of its type's rate. `direct_mb_s`:
    of an end's way past the pool; `end_mb_s`: of an end in all, `receiver_mb_s` where destinations differ.
    """

    nodes: int = NODES
    other_nodes: int = 1
    other_type: str = WIDE_TYPE
    leases_per_node: int = USERS
    tenants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    factors: Sequence[float] = ()
    direct_mb_s: float = DIRECT_MB_S
    end_mb_s: float = INSIDE_MB_S
    receiver_mb_s: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Of the deployment."""
        common = {"leasesPerNode": self.leases_per_node, "idleSeconds": 900}
        home = {"min": self.nodes, "max": self.nodes, "instanceType": NODE_TYPE, **common}
        other = {"min": self.other_nodes, "max": self.other_nodes, "instanceType": self.other_type, **common}
        types = [NODE_TYPE, WIDE_TYPE]
        tenants = {name: dict(terms) for name, terms in self.tenants.items()}
        return {"pool": {HOME: home, OTHER: other}, "instanceTypes": types, "tenants": tenants}

    @property
    def caps(self) -> dict[str, Any]:
        """Of the emulation."""
        received = self.receiver_mb_s or self.end_mb_s
        kinds = {
            NODE_TYPE: (NODE_MB_S, INSIDE_MB_S),
            WIDE_TYPE: (INSIDE_MB_S, INSIDE_MB_S),
            END_TYPE: (min(self.direct_mb_s, self.end_mb_s), self.end_mb_s),
            RECEIVER_TYPE: (min(self.direct_mb_s, received), received),
            SLOW_TYPE: (SLOW_MB_S, SLOW_MB_S),
        }
        by_type = {name: {"interRegionMBps": out, "intraRegionMBps": inside} for name, (out, inside) in kinds.items()}
        unlike = {"tag": POOL_TAG, "region": HOME, "factor": list(self.factors)}
        return {"byType": by_type, "launches": [unlike] if self.factors else []}

    @property
    def capacity(self) -> float:
        """MB/s that the home region's nodes carry together, headers of packets included."""
        return NODE_MB_S * (sum(self.factors) if self.factors else self.nodes)


@dataclass(frozen=True)
class User:
    """Somebody with two machines."""

    name: str
    source: str
    destination: str


class Site:
    """The pool's account, with machines of users, of whom no byte goes past the pool."""

    def __init__(self, account: Account, layout: Layout, work: Path) -> None:
        self.account, self.layout, self.work = account, layout, work
        self._users: list[User] = []
        self._table = account.aws.resource("dynamodb").Table("cpt-pool")
        for function in FUNCTIONS:
            account.configure(f"cpt-{function}", POLL_SECONDS="0.2")

    def users(self, count: int, *, slow: bool = False) -> list[User]:
        """So many, of whom the last one has a slow destination if `slow`; machines of earlier cases are used again."""
        while len(self._users) < count:
            self._users.append(self._user(f"user{len(self._users)}", RECEIVER_TYPE))
        found = self._users[:count]
        if slow:
            found[-1] = self._user("slow", SLOW_TYPE)
        return found

    def close(self, users: Sequence[User], *, closed: bool = True) -> None:
        """Let nothing reach users past the pool, or open that way again: the survey of a transfer needs it."""
        for user in users:
            close_direct(namespace_of(user.destination), closed=closed)

    def _user(self, name: str, kind: str) -> User:
        cloud = self.account.cloud
        return User(name, cloud.launch_vm(HOME, f"{name} source", END_TYPE), cloud.launch_vm(OTHER, name, kind))

    def items(self, kind: str) -> list[dict[str, Any]]:
        """Of the pool's table, those whose record begins so."""
        return [item for item in self._table.scan()["Items"] if item["record"].startswith(kind)]

    def await_pool(self) -> None:
        """Until all nodes take leases and nobody has one. Raises TimeoutError."""
        wanted = self.layout.nodes + self.layout.other_nodes

        def is_free() -> bool:
            self.account.invoke("cpt-keep-pool", {})
            return [item["state"] for item in self.items("node#") if item["state"] != "ENDED"] == ["FREE"] * wanted

        self.account.cloud.wait_for(is_free, 120)

    @property
    def through_pool(self) -> dict[str, Any]:
        """Relays of a transfer that has a lease on each node, and no others."""
        return {"pairs": {"source": self.layout.nodes, "destination": self.layout.other_nodes}, "pool": "only"}

    def start(self, user: User, name: str, source: Path, tenant: str = "", **more: Any) -> str:
        """Start a transfer of `source`, through the pool alone unless `relays` are others; the execution's ARN."""
        request = {
            "source": {"instanceId": user.source, "region": HOME, "paths": [str(source)]},
            "destination": {"instanceId": user.destination, "region": OTHER, "path": str(self.work / "out" / name)},
            "preTest": False,
            "relays": self.through_pool,
            "chunkSizeMiB": 1,
            **more,
        }
        client = self.account.aws.client("stepfunctions")
        machine = f"{self.account.machine}:{tenant}" if tenant else self.account.machine
        begun = client.start_execution(stateMachineArn=machine, name=name, input=json.dumps(request))
        return str(begun["executionArn"])

    def cancel(self, arns: Sequence[str]) -> None:
        """End transfers that have been watched for long enough, and wait until the pool has all its leases back."""
        client = self.account.aws.client("stepfunctions")
        for arn in arns:
            client.stop_execution(executionArn=arn)
        self.await_pool()
        shutil.rmtree(self.work / "out", ignore_errors=True)

    def counter(self, users: Sequence[User]) -> Counter:
        """Of what arrives at the users' destinations."""
        return Counter({user.name: namespace_of(user.destination) for user in users})

    def joined(self, transfer: str) -> int:
        """Relays of a transfer that take part."""
        return sum("joinedAt" in node for node in self.account.nodes(transfer))

    def await_joined(self, names: Sequence[str], relays: int | None = None) -> float:
        """Until all relays of these transfers take part; the moment of the monotonic clock. Raises TimeoutError.

        `relays`: of each; as many as the pool has nodes. With none, until data moves.
        """
        wanted = self.layout.nodes + self.layout.other_nodes if relays is None else relays

        def has_joined(name: str) -> bool:
            return self.joined(name) == wanted and "firstByteAt" in self.account.progress(name)

        self.account.cloud.wait_for(lambda: all(map(has_joined, names)), 60)
        return monotonic()


def rest(until: float) -> None:
    """Let a measurement go on until a moment of the monotonic clock."""
    sleep(max(until - monotonic(), 0.0))


@contextmanager
def site(layout: Layout) -> Iterator[Site]:
    """A cloud of its own with a pool that stands; all of it is gone afterwards."""
    with workspace("cpt-pool-") as work:
        templates = synthesized(work / "assembly", (HOME, OTHER), **layout.settings)
        config = {
            "port": 0,
            "instances": "netns",
            "image": str(make_image(work / "image")),
            "caps": layout.caps,
            "bootSeconds": 0.5,
            "pollSeconds": 0.2,
        }
        cloud = LocalCloud(LocalConfig.model_validate(config), work / "state", templates)
        # A lane keeps up to 30 MB in Linux's own buffers: at these rates several seconds of a node's time.
        with buffers.scaled(cloud.state.network_prefix), cloud:
            found = Site(Account(cloud, work, (END_TYPE, END_TYPE)), layout, work)
            found.await_pool()
            yield found
