"""Values that cross the ports and are no contract: tokens, instances, launches, command results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lambdas.core.places.machines import EndMachine

# SSM's least: how long a command may wait for a worker of its machine's agent.
LEAST_DELIVERY_SECONDS = 30

DocumentName = Literal["scan", "delete", "receive", "send", "relay", "probe", "log", "stop"]


@dataclass(frozen=True)
class ProbeResult:
    """Record `probe#{pathId}`, MB/s."""

    path_id: str
    generation: int
    inter_region: float
    intra_region: float
    error: str | None = None
    hops: tuple[float, ...] = ()
    """Of each hop between relays, in order; those after one that failed are absent."""

    @classmethod
    def told(cls, path_id: str, item: Mapping[str, Any]) -> "ProbeResult | None":
        """From the record's attributes (contract `probe-result`); None where an end wrote something else there."""
        generation, hops, error = item.get("generation"), item.get("hopsMBps", []), item.get("error")
        rates = [item.get("interRegionMBps", 0.0), item.get("intraRegionMBps", 0.0)]
        numbers = [generation, *rates, *(hops if isinstance(hops, list) else [None])]
        if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
            return None
        if error is not None and not isinstance(error, str):
            return None
        inter_region, intra_region = rates
        return cls(path_id, int(item["generation"]), inter_region, intra_region, error, tuple(hops))


@dataclass(frozen=True)
class ControlToken:
    """The task token of Start Transfer, and the start of both ends that it ordered."""

    token: str
    start: int


@dataclass(frozen=True)
class Instance:
    """An EC2 instance.

    `transfer_id` is a relay's tag. `lent_to` names the deployment that may use the machine as one, and `end_of` that
    which may use it as an end.
    """

    instance_id: str
    state: str
    instance_type: str
    availability_zone: str
    vpc_id: str
    subnet_id: str
    private_address: str
    public_address: str | None = None
    vcpus: int | None = None
    transfer_id: str | None = None
    spot: bool = False
    lent_to: str | None = None
    end_of: str | None = None
    group_ids: frozenset[str] = frozenset()
    state_reason: str | None = None

    @property
    def gone(self) -> bool:
        """The instance is terminated or on the way there."""
        return self.state in ("shutting-down", "terminated")

    def machine(self, region: str) -> EndMachine:
        """Return what a transfer keeps of it."""
        return EndMachine(
            instance_id=self.instance_id,
            region=region,
            availability_zone=self.availability_zone,
            instance_type=self.instance_type,
            vcpus=self.vcpus,
            vpc_id=self.vpc_id,
            subnet_id=self.subnet_id,
            private_address=self.private_address,
            public_address=self.public_address,
        )


@dataclass(frozen=True)
class LaunchRequest:
    """One RunInstances: up to `count` relays of one side and type; without a transfer they are nodes of the pool."""

    transfer_id: str | None
    role: str
    instance_type: str
    count: int
    subnet_id: str
    group_id: str
    public_address: bool
    spot: bool
    client_token: str
    favours_network: bool = False
    """Its network has part of what its disks may move; only where the type takes that."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Of instances and disks, beside ours; a key of ours is none of these."""


class LaunchError(Exception):
    """RunInstances refused; `code` and `message` are EC2's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class CommandResult:
    """A finished SSM command; one that was never `started` ran nowhere, and may be sent again."""

    succeeded: bool
    status: str
    output: str
    error: str
    started: bool = True

    def tail(self, characters: int = 800) -> str:
        """The end of what it printed, errors last."""
        return "\n".join(part.strip() for part in (self.output, self.error) if part.strip())[-characters:]


class OlderDocumentError(Exception):
    """A region's documents do not know a parameter: its stack is deployed after the functions."""


class NotManagedError(Exception):
    """SSM does not (yet) know the instance."""
