"""The accepted transfer: what every state knows of it."""

from hashlib import blake2b
from typing import Annotated, Any

from pydantic import Field, model_validator

from lambdas.core.documents import MAX_TRANSIT_REGIONS, Count, Document, Region, TenantName, TransferId
from lambdas.core.ends.bucket import DestinationBucket, SourceBucket
from lambdas.core.places.machines import EndMachine, ExistingRelay, TransitRegion
from lambdas.core.request.request import TransferRequest
from lambdas.core.transfer.errand import COPY, ERRANDS, Errand
from lambdas.core.transfer.partition import Partition, partition_of
from lambdas.core.transfer.record_format import FORMAT_VERSION, format_of, with_seats, with_stage
from lambdas.core.transfer.seat import MOST_SEATS, Seat

# With two relays each, this many transfers take 45 of the 60 rules of a security group.
RECEIVER_PORTS = range(4601, 4616)


class AcceptedTransfer(Document):
    """Output of Validate Request; `request` has its defaults filled in, and its ends are where the data lies and goes.

    `senders`: the seats that read the source; `receivers`: those that write at the destination. Where S3 copies between
    two buckets there are none.
    `run`: which of the transfer's executions it is; those after the first have `resume` in their request.
    `receiver_port`: where the destination receives it, beside other transfers.
    `format_version`: of its records; those that say nothing are of format 1.
    """

    format_version: Annotated[int, Field(ge=1)] = FORMAT_VERSION
    transfer_id: TransferId
    run: Annotated[int, Field(ge=1)] = 1
    execution_arn: str
    execution_started_at: float
    request: TransferRequest
    # The index of running transfers holds what has these names, and DynamoDB cannot change what an index holds.
    senders: list[Seat] = Field(alias="source", max_length=MOST_SEATS)
    receivers: list[Seat] = Field(alias="destination", max_length=MOST_SEATS)
    existing: list[ExistingRelay] = Field(default_factory=list)
    transit: list[TransitRegion] = Field(default_factory=list, max_length=MAX_TRANSIT_REGIONS)
    apart: list[tuple[Region, Region]] = Field(default_factory=list)
    """`transit`: third regions of routes, in an order that never changes; `apart`: borders that no route can cross."""
    receiver_port: int = RECEIVER_PORTS[0]
    tenant: TenantName | None = None
    """Whose it is, by the alias that its execution was started through; None: the operator's."""
    most_pairs: Count | None = None
    """Pairs that its tenant's terms leave it; None: as many as the deployment allows."""

    @model_validator(mode="before")
    @classmethod
    def _of_an_earlier_format(cls, value: Any) -> Any:
        # Documents and items have "transferId"; code that makes a transfer says transfer_id.
        if not isinstance(value, dict) or "transferId" not in value or format_of(value) == FORMAT_VERSION:
            return value
        machines = [dict(with_stage(machine)) for machine in value.get("existing", [])]
        for machine in machines:
            machine.pop("role", None)
        return {"formatVersion": 1, **with_seats(value), "existing": machines}

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Those in which a daemon works, the first that are started in front: nobody receives what is only measured."""
        return (*(self.receivers if self.errand.has_receivers else ()), *self.senders)

    @property
    def errand(self) -> Errand:
        """What it is for."""
        return COPY if self.request.copied_ends else ERRANDS[self.request.profile]

    @model_validator(mode="after")
    def _has_seats(self) -> "AcceptedTransfer":
        if not self.errand.copies and not (self.senders and self.receivers):
            raise ValueError("source and destination: each end has a seat")
        return self

    @property
    def copied_ends(self) -> tuple[SourceBucket, DestinationBucket]:
        """Both ends, of an errand that copies; raises ValueError for any other one."""
        ends = self.request.copied_ends
        if ends is None:
            raise ValueError(f"{self.transfer_id} has a machine at an end")
        return ends

    def seat(self, seat_id: str) -> Seat:
        """The seat of this id; raises StopIteration where it has none."""
        return next(seat for seat in self.seats if seat.seat_id == seat_id)

    @property
    def at_source(self) -> EndMachine:
        """The machine that looks at the source where one does so for all."""
        return self.senders[0].machine

    @property
    def at_destination(self) -> EndMachine:
        """The machine that looks at the destination, or changes it, where one does so for all."""
        return self.receivers[0].machine

    @property
    def source_region(self) -> str:
        """The region that the data leaves."""
        return self.request.source.place.region

    @property
    def destination_region(self) -> str:
        """The region that the data comes to."""
        return self.request.destination.place.region

    @property
    def relay_regions(self) -> list[str]:
        """Regions of the ends that relays may stand beside, source's first: none does beside a bucket."""
        regions = self.source_region, self.destination_region
        return [regions[side] for side in self.request.machine_sides]

    @property
    def region_pair(self) -> str:
        """The key of profiles, e.g. `us-west-2>eu-west-1`, or `us-west-2>s3:eu-west-1` to a bucket."""
        ends = (self.request.source, self.request.destination)
        return ">".join(f"s3:{end.region}" if end.kind == "bucket" else end.region for end in ends)

    @property
    def between_regions(self) -> bool:
        """The data leaves its region, a bucket's too."""
        return self.source_region != self.destination_region

    @property
    def on_one_machine(self) -> bool:
        """Whether both seats work on one machine: one end is a bucket."""
        return self.at_source.instance_id == self.at_destination.instance_id

    @property
    def between_machines(self) -> bool:
        """Whether machines of two regions send and receive."""
        return self.at_source.region != self.at_destination.region

    @property
    def account(self) -> str:
        """The deployment's."""
        return self.execution_arn.split(":")[4]

    @property
    def plan_id(self) -> str:
        """Id of the plan that this execution makes.

        An execution has one plan, however often its function runs. The start time tells it from an execution of the
        same name in a deployment that was removed and made anew.
        """
        return blake2b(f"{self.execution_arn} {self.execution_started_at}".encode(), digest_size=16).hexdigest()

    @property
    def partition(self) -> Partition:
        """Key of all that its seats share."""
        machines = ((seat.machine.region, seat.machine.instance_id) for seat in (*self.senders, *self.receivers))
        return partition_of(self.execution_arn, machines, self.transfer_id)
