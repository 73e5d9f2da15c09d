"""What crosses the ports that is no contract: records, instances, launches, command results."""

from dataclasses import dataclass, field
from typing import Any, Literal

from lambdas.core.bandwidth import BandwidthLimit
from lambdas.core.ends.liveness import Ends
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_watch import Watch
from lambdas.core.report.fleet_report import Spawned
from lambdas.core.spending.meter import BudgetDecision, Spent
from lambdas.core.transfer import AcceptedTransfer, EndMachine, ResolvedPaths, Same, TransferPlan

Status = Literal["ACTIVE", "DONE", "SUCCEEDED", "SUCCEEDED_WITH_SKIPS", "FAILED"]
# Of a transfer that is reported.
ENDED: tuple[Status, ...] = ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS", "FAILED")
DocumentName = Literal["scan", "receive", "send", "relay", "probe", "stop"]


@dataclass(frozen=True)
class TransferRecord:
    """Record `transfer` of the transfers table; times in Unix seconds. `teardown` is there when it is complete."""

    transfer: AcceptedTransfer
    status: Status
    fenced: bool
    paths: ResolvedPaths | None = None
    estimate: Estimate | None = None
    plan: TransferPlan | None = None
    spawned: Spawned | None = None
    outcome: dict[str, Any] | None = None
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    teardown: dict[str, Any] | None = None
    spent: Spent | None = None
    budget: BudgetDecision | None = None
    """Once the budget no longer bears relays."""
    watch: Watch = field(default_factory=Watch)
    same: Same | None = None
    """The plan again, with what it was made from."""
    earlier: TransferPlan | None = None
    """The plan of an earlier run, which may not be fulfilled."""
    earlier_epochs: int = 0
    """The last epoch of the runs before this one."""
    closed: bool = False
    """Reported, and nothing is left to take down."""
    ends: Ends | None = None
    bandwidth: BandwidthLimit | None = None
    """Once somebody has set another than the request's."""

    @property
    def limit(self) -> BandwidthLimit:
        """The bound on the sender's rate, now and before."""
        return self.bandwidth or BandwidthLimit().set_to(self.transfer.request.bandwidth_limit_mbps)

    @property
    def running(self) -> bool:
        """Whether relays may still be of use."""
        return self.moving and self.budget is None

    def is_of(self, transfer: AcceptedTransfer) -> bool:
        """Whether the transfer's execution has it, and no later one has taken it up."""
        return self.transfer.execution_arn == transfer.execution_arn

    def serves(self, transfer: AcceptedTransfer) -> bool:
        """Whether the transfer's execution may start anything: it has the record, and is not being torn down."""
        return not self.fenced and self.is_of(transfer)

    @property
    def unfulfilled(self) -> TransferPlan | None:
        """The plan that a later run may go on with: this one's, or before it has one that of an earlier run."""
        if self.plan is None:
            return self.earlier
        fulfilled = self.plan.chunks == 0 or "delivered" in (self.outcome or {})
        return None if fulfilled or self.plan.open else self.plan

    @property
    def ended(self) -> bool:
        """Whether another execution may go on with it."""
        return self.closed and self.status in ENDED

    @property
    def moving(self) -> bool:
        """Whether the sender follows the membership."""
        return self.status == "ACTIVE" and not self.fenced


@dataclass(frozen=True)
class ProbeResult:
    """Record `probe#{pathId}`, MB/s."""

    path_id: str
    generation: int
    inter_region: float
    intra_region: float
    error: str | None = None


@dataclass(frozen=True)
class ControlToken:
    """The task token of Start Transfer, and the epoch in which it started both ends."""

    token: str
    epoch: int


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

    @property
    def gone(self) -> bool:
        """Whether it is terminated or on the way there."""
        return self.state in ("shutting-down", "terminated")

    def machine(self, region: str) -> EndMachine:
        """What a transfer keeps of it."""
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
