"""The accepted transfer and the small documents that the states hand on."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from lambdas.core.bandwidth import Mbps
from lambdas.core.documents import (
    MAX_STAGES,
    MAX_TRANSIT_REGIONS,
    Count,
    Document,
    Handover,
    InstanceId,
    Name,
    PlanId,
    Region,
    SocketAddress,
    StageIndex,
    TransferId,
)
from lambdas.core.place import Place
from lambdas.core.record_format import FORMAT_VERSION, format_of, with_stage
from lambdas.core.request import TransferRequest

RELAY_PORT = 4600
# Id of the path without relays.
DIRECT = "direct"
# With two relays each, this many transfers take 45 of the 60 rules of a security group.
RECEIVER_PORTS = range(4601, 4616)


class EndMachine(Document):
    """An instance at one end, as EC2 describes it; addresses are IPv4."""

    instance_id: InstanceId
    region: Region
    availability_zone: str
    instance_type: str
    vcpus: Count | None = None
    vpc_id: str
    subnet_id: str
    private_address: str
    public_address: str | None = None

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.region, self.vpc_id, self.availability_zone)

    @property
    def where(self) -> str:
        """Its VPC in words."""
        return f"{self.vpc_id} ({self.region}), the VPC of {self.instance_id}"


class ExistingRelay(EndMachine):
    """A machine of the user that serves as a relay of a stage; never terminated."""

    stage: StageIndex
    spot: bool = False


class TransitRegion(Document):
    """A third region that relays may be in, and the enrolled VPC there."""

    region: Region
    vpc_id: str

    @property
    def place(self) -> Place:
        """Where relays in it are."""
        return Place(self.region, self.vpc_id)


def shared_key(execution_arn: str, ends: Iterable[tuple[str, str]], transfer_id: str) -> str:
    """`AcceptedTransfer.shared` of an execution, (region, instance id) of source and destination, and a transfer id."""
    _, partition, _, _, account, *_ = execution_arn.split(":")
    arns = (f"arn:{partition}:ec2:{region}:{account}:instance/{instance_id}" for region, instance_id in ends)
    return "+".join((*arns, transfer_id))


class AcceptedTransfer(Document):
    """Output of Validate Request; `request` has its defaults filled in.

    `run`: which of the transfer's executions it is; those after the first have `resume` in their request.
    `receiver_port`: where the destination receives it, beside other transfers. `format_version`: of its records; those
    that say nothing are of format 1.
    """

    format_version: Annotated[int, Field(ge=1)] = FORMAT_VERSION
    transfer_id: TransferId
    run: Annotated[int, Field(ge=1)] = 1
    execution_arn: str
    execution_started_at: float
    request: TransferRequest
    source: EndMachine
    destination: EndMachine
    existing: list[ExistingRelay] = Field(default_factory=list)
    transit: list[TransitRegion] = Field(default_factory=list, max_length=MAX_TRANSIT_REGIONS)
    apart: list[tuple[Region, Region]] = Field(default_factory=list)
    """`transit`: third regions of routes, in an order that never changes; `apart`: borders that no route can cross."""
    receiver_port: int = RECEIVER_PORTS[0]

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_format(cls, value: Any) -> Any:
        # Documents and items have "transferId"; code that makes a transfer says transfer_id.
        if not isinstance(value, dict) or "transferId" not in value or format_of(value) == FORMAT_VERSION:
            return value
        machines = [dict(with_stage(machine)) for machine in value.get("existing", [])]
        for machine in machines:
            machine.pop("role", None)
        return {"formatVersion": 1, **value, "existing": machines}

    @property
    def region_pair(self) -> str:
        """The key of profiles, e.g. `us-west-2>eu-west-1`."""
        return f"{self.source.region}>{self.destination.region}"

    @property
    def between_regions(self) -> bool:
        """The data leaves its region."""
        return self.source.region != self.destination.region

    @property
    def plan_id(self) -> str:
        """Id of the plan that this execution makes.

        An execution has one plan, however often its function runs. The start time tells it from an execution of the
        same name in a deployment that was removed and made anew.
        """
        return blake2b(f"{self.execution_arn} {self.execution_started_at}".encode(), digest_size=16).hexdigest()

    @property
    def shared(self) -> str:
        """Key of all that the two ends share: the ARNs of both instances, and the transfer's id, joined by `+`.

        An end's policy has its own instance's ARN as a variable: it reaches the keys that name it, and no others. No id
        holds a `+`, so nobody can choose a name whose key would look like another transfer's.
        """
        ends = ((end.region, end.instance_id) for end in (self.source, self.destination))
        return shared_key(self.execution_arn, ends, self.transfer_id)


class ResolvedPaths(Handover):
    """Addresses per kind of hop: between regions private (peering) or public; inside a region always private."""

    direct_reachable: bool
    inter_region: Literal["private", "public"]
    source_address: str
    receiver_address: str
    receiver_inside_address: str

    def outward(self, private: str, public: str | None) -> str:
        """The address that the other region sees; raises LookupError when a public one is needed and absent."""
        if self.inter_region == "private":
            return private
        if public is None:
            raise LookupError(private)
        return public


class PlanListing(Document):
    """The place of the listing that a plan is made of; the last look at the destination goes by it.

    `parts` objects of `listing/` have `digest`; what of them is planned lies in `planned_parts` objects of
    `planned_folder`, what a comparison found equal in `equal_folder`.
    """

    parts: Count
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    planned_folder: str
    planned_parts: Count
    equal_folder: str | None = None


class TransferPlan(Document):
    """Contract `transfer-plan`; more is added while it is `open`.

    `plan_id`: no two plans share it; nothing that was kept of another plan is believed.
    """

    schema_version: Literal[1] = 1
    transfer_id: TransferId
    plan_id: PlanId
    chunk_size_bytes: Count
    chunks: Count
    range_size: Count
    first_range: Annotated[Count, Field(le=9_999_999)]
    last_phase_chunks: Count
    bytes: Count
    files: Count
    manifest_parts: list[str]
    lanes_per_path: Annotated[int, Field(ge=1)]
    open: bool = False
    listing: PlanListing | None = None

    @model_validator(mode="after")
    def _what_comes_with_the_end(self) -> Self:
        if self.open and self.last_phase_chunks:
            raise ValueError(f"lastPhaseChunks is {self.last_phase_chunks}; while the plan is open it is 0")
        if self.open and self.listing:
            raise ValueError("listing is given; while the plan is open it is not known")
        if not self.open and self.chunks and not self.listing:
            raise ValueError("listing is absent; a plan that is whole names it")
        return self

    @property
    def ranges(self) -> range:
        """Numbers of the ranges that hold its chunks."""
        return range(self.first_range, self.first_range + -(-self.chunks // max(self.range_size, 1)))


class Hop(Document):
    """A relay to go through."""

    node_id: str
    address: SocketAddress


class TransferPath(Document):
    """One way from sender to receiver."""

    path_id: Name
    generation: Count
    hops: list[Hop] = Field(max_length=MAX_STAGES)
    receiver: SocketAddress
    lanes: Annotated[int, Field(ge=1, le=32)]


class Probe(Document):
    """One pre-test, `seconds` per hop; `measure_from`: the relay, from 0, at which it begins, if not the first."""

    path: TransferPath
    seconds: float
    measure_from: Annotated[int, Field(ge=0, lt=MAX_STAGES - 1)] | None = None


class BudgetLease(Document):
    """Dollars that the sender may still spend, renewed with each look at the meter; Unix seconds.

    `start`: whose processes hold it. `sent_bytes`: on the wire, as that start had reported by `at`; they are paid for.
    What is sent after it and the time that passes use `usd` up; then the sender pauses.
    """

    start: Count
    at: Annotated[float, Field(ge=0)]
    sent_bytes: Count
    usd: Annotated[float, Field(ge=0)]
    usd_per_gb: Annotated[float, Field(ge=0)]
    usd_per_hour: Annotated[float, Field(ge=0)]

    def is_older_than(self, other: "BudgetLease | None") -> bool:
        """Return whether the other one knows more. Of two of one moment that one does which has less to give."""
        return other is not None and (self.at, -self.usd) < (other.at, -other.usd)

    def bears(self, sent_bytes: int, seconds: float) -> bool:
        """Return whether so many bytes of the start are paid for, so long after it was granted."""
        sent, passed = max(sent_bytes - self.sent_bytes, 0), max(seconds, 0.0)
        return sent / 1e9 * self.usd_per_gb + passed / 3600 * self.usd_per_hour <= self.usd


class Membership(Document):
    """Contract `membership`."""

    schema_version: Literal[1] = 1
    version: Count
    paths: list[TransferPath]
    probes: list[Probe] = Field(default_factory=list)
    bandwidth_limit_mbps: Mbps | None = None
    budget_lease: BudgetLease | None = None

    def changed(self, *, paths: list[TransferPath] | None = None, probes: list[Probe] | None = None) -> "Membership":
        """Return the next version of the membership, with other paths, other probes, or both."""
        return self._next(
            paths=self.paths if paths is None else paths,
            probes=self.probes if probes is None else probes,
        )

    def limited(self, mbps: int | None) -> "Membership":
        """The next version, with another bound on the sender's rate; None: no bound."""
        return self._next(bandwidth_limit_mbps=mbps)

    def leased(self, lease: BudgetLease) -> "Membership":
        """The next version, with what the budget bears now."""
        return self._next(budget_lease=lease)

    def _next(self, **changes: object) -> "Membership":
        return self.model_copy(update={"version": self.version + 1, **changes})


# `States.` is reserved for Step Functions: no execution can be made to fail by such a name.
_RESERVED = ("States.", "Workflow.")
_OUR_NAMES = {"HeartbeatTimeout": "HeartbeatLost", "Timeout": "StepTimedOut"}


def name_of_ours(error: str) -> str:
    """An error of Step Functions by a name that an execution may fail with; any other as it is."""
    prefix = next((one for one in _RESERVED if error.startswith(one)), None)
    if prefix is None:
        return error
    name = error.removeprefix(prefix)
    return _OUR_NAMES.get(name, f"Workflow{name}")


def ending(status: str, error: str, cause: str) -> str:
    """How an execution ended, for people: `ABORTED (Cancelled): wrong directory`; error and cause may be empty."""
    named = f"{status} ({error})" if error else status
    return f"{named}: {_sentence(cause)}" if cause else named


class Failure(Handover):
    """A state's failure, as Step Functions catches it or as a branch returns it."""

    error: str
    cause: str = ""

    @classmethod
    def from_any(cls, value: Any) -> "Failure | None":
        """Accept {Error, Cause} and {error, cause}; None when there is no failure."""
        if not isinstance(value, dict):
            return None
        error = value.get("error", value.get("Error"))
        if isinstance(error, dict):
            return cls.from_any(error)
        cause = value.get("cause", value.get("Cause"))
        return None if error is None else cls(error=name_of_ours(str(error)), cause=_sentence(cause))


def _sentence(cause: object) -> str:
    """The message inside a Lambda's cause, which is JSON with `errorMessage`; else the cause itself."""
    try:
        inner = json.loads(str(cause or ""))
    except ValueError:
        return str(cause or "")
    return str(inner["errorMessage"]) if isinstance(inner, dict) and "errorMessage" in inner else str(cause)
