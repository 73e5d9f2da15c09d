"""Values that cross the ports and are no contract: tokens, instances, launches, command results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lambdas.core.transfer import EndMachine

DocumentName = Literal["scan", "delete", "receive", "send", "relay", "probe", "stop"]


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
    def from_item(cls, path_id: str, item: Mapping[str, Any]) -> "ProbeResult":
        """From the record's attributes (contract `probe-result`)."""
        return cls(
            path_id=path_id,
            generation=item["generation"],
            inter_region=item.get("interRegionMBps", 0.0),
            intra_region=item.get("intraRegionMBps", 0.0),
            error=item.get("error"),
            hops=tuple(item.get("hopsMBps", ())),
        )


@dataclass(frozen=True)
class ControlToken:
    """The task token of Start Transfer, and the start of both ends that it ordered."""

    token: str
    start: int


@dataclass(frozen=True)
class Instance:
    """An EC2 instance; `transfer_id` is a relay's tag, `lent_to` names the deployment that may use it as one."""

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
    """One RunInstances: up to `count` relays of one side and type."""

    transfer_id: str
    role: str
    instance_type: str
    count: int
    subnet_id: str
    group_id: str
    public_address: bool
    spot: bool
    client_token: str


class LaunchError(Exception):
    """RunInstances refused; `code` and `message` are EC2's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class CommandResult:
    """A finished SSM command."""

    succeeded: bool
    status: str
    output: str
    error: str

    def tail(self, characters: int = 800) -> str:
        """The end of what it printed, errors last."""
        return "\n".join(part.strip() for part in (self.output, self.error) if part.strip())[-characters:]


class NotManagedError(Exception):
    """SSM does not (yet) know the instance."""
