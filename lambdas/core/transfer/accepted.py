"""The accepted transfer: what every state knows of it."""

from hashlib import blake2b
from typing import Annotated, Any

from pydantic import Field, model_validator

from lambdas.core.documents import MAX_TRANSIT_REGIONS, Document, Region, TransferId
from lambdas.core.places.machines import EndMachine, ExistingRelay, TransitRegion
from lambdas.core.request.request import TransferRequest
from lambdas.core.transfer.partition import shared_key
from lambdas.core.transfer.record_format import FORMAT_VERSION, format_of, with_stage
from lambdas.core.transfer.seat import Seat

# With two relays each, this many transfers take 45 of the 60 rules of a security group.
RECEIVER_PORTS = range(4601, 4616)


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
    def senders(self) -> tuple[Seat, ...]:
        """The seats that read the source."""
        return (Seat("s0", self.source),)

    @property
    def receivers(self) -> tuple[Seat, ...]:
        """The seats that write at the destination: none where nothing is moved but measured."""
        return () if self.request.is_profiling else (Seat("r0", self.destination),)

    @property
    def seats(self) -> tuple[Seat, ...]:
        """All of them, those that are started first in front."""
        return (*self.receivers, *self.senders)

    def seat(self, seat_id: str) -> Seat:
        """The seat of this id; raises StopIteration where it has none."""
        return next(seat for seat in self.seats if seat.seat_id == seat_id)

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
