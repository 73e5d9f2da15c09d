"""Events from the ends (contract `event`).

An end may put any event of any transfer on the bus: an event only wakes its reader, who acts on what the end wrote into
a record of its own transfer.
"""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from lambdas.core.chunks.chunk import FailureReason
from lambdas.core.documents import Count, Document, InstanceId, TransferId
from lambdas.core.transfer.seat import Role, SeatId, SenderId, role_of

Epoch = Annotated[int, Field(ge=1)]
Told = TypeVar("Told", bound=Document)


class ChunkFailed(Document):
    """One attempt at one chunk failed."""

    schema_version: Literal[1]
    type: Literal["Chunk Failed"]
    transfer_id: TransferId
    chunk: Count
    attempt: Epoch
    path_id: str
    reason: FailureReason
    message: str


class RelayLost(Document):
    """The lanes of a path broke at a relay; from the control plane: it is dead or silent."""

    schema_version: Literal[1]
    type: Literal["Relay Lost"]
    transfer_id: TransferId
    path_id: str | None = None
    node_id: str
    instance_id: InstanceId | None = None
    """Its machine: nodes of a later run have the same ids. A sender does not know it."""
    message: str

    @classmethod
    def told(cls, text: object, transfer_id: str) -> Self | None:
        """Return what the JSON text of a record says; None where it says nothing of this transfer."""
        found = _read(cls, text)
        return found if found is not None and found.transfer_id == transfer_id else None


class RelaySlow(Document):
    """A relay carries far less than it should, MB/s."""

    schema_version: Literal[1]
    type: Literal["Relay Slow"]
    transfer_id: TransferId
    node_id: str
    instance_id: InstanceId | None = None
    rate: float = Field(alias="rateMBps", ge=0)
    expected: float = Field(alias="expectedMBps", ge=0)
    message: str


class RelayWarned(Document):
    """The machine of a relay will be interrupted in two minutes."""

    schema_version: Literal[1]
    type: Literal["Relay Warned"]
    transfer_id: TransferId
    node_id: str
    instance_id: InstanceId | None = None
    message: str


class EndLost(Document):
    """EC2 has said that the machine of an end stops or is terminated."""

    schema_version: Literal[1]
    type: Literal["End Lost"]
    transfer_id: TransferId
    instance_id: InstanceId


class CredentialsWanted(Document):
    """A process that works for a bucket's seat waits for credentials, sealed to the key that it has published."""

    schema_version: Literal[1]
    type: Literal["Credentials Wanted"]
    transfer_id: TransferId
    seat: SeatId
    process: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class RateFell(Document):
    """All paths together carry lastingly less than when relays were decided about, MB/s."""

    schema_version: Literal[1]
    type: Literal["Rate Fell"]
    transfer_id: TransferId
    rate: float = Field(alias="rateMBps", ge=0)
    expected: float = Field(alias="expectedMBps", ge=0)
    message: str


class TransferUnpaused(Document):
    """A pause is over, and relays that were given back are to be launched again."""

    schema_version: Literal[1]
    type: Literal["Transfer Unpaused"]
    transfer_id: TransferId


class PlanDue(Document):
    """Routes through third regions may be planned again."""

    schema_version: Literal[1]
    type: Literal["Plan Due"]
    transfer_id: TransferId


class LookDue(Document):
    """A minute has passed: what lost events of this transfer would have told is to be found."""

    schema_version: Literal[1]
    type: Literal["Look Due"]
    transfer_id: TransferId


class PoolLeased(Document):
    """A transfer has leases in the pool, which is to be divided anew."""

    schema_version: Literal[1]
    type: Literal["Pool Leased"]
    transfer_id: TransferId


class WindowDue(Document):
    """A window in which objects are collected is over; also where whoever closed it has ended before it was done."""

    schema_version: Literal[1] = 1
    type: Literal["Window Due"] = "Window Due"
    start: Annotated[str, Field(pattern=r"^(added_)?[a-z][a-z0-9-]{0,29}$")]
    number: Annotated[int, Field(ge=1)]


class EndSilent(Document):
    """A seat has fallen silent: it is to run as `start`, or to be given up where it was started often enough."""

    schema_version: Literal[1]
    type: Literal["End Silent"]
    transfer_id: TransferId
    seat: SeatId
    start: Annotated[int, Field(ge=1)]


class ExecutionOver(Document):
    """The execution of a transfer that is active is over, or unknown, and nobody has taken the transfer down."""

    schema_version: Literal[1]
    type: Literal["Execution Over"]
    transfer_id: TransferId
    execution_arn: str


class Copied(Document):
    """Large files that were copied to another inode, as somebody who was given up might still have written into them.

    `seconds`: in which all was gathered.
    """

    bytes: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(ge=0)]


class Delivered(Document):
    """Every chunk is delivered, every file renamed but those that were left out: `skipped` many entries."""

    bytes: Count
    files: Count
    chunks: Count
    sent_bytes: Count
    """Bytes sent by all processes of the sender's start."""
    saved_bytes: Annotated[int, Field(ge=1)] | None = None
    """Of those, the ones for which nothing crossed the network: holes of sparse files, what packing saved, and
    what the destination had of changed files."""
    epoch: Epoch
    hedged_bytes: Annotated[int, Field(ge=1)] | None = None
    repaired_chunks: Annotated[int, Field(ge=1)] | None = None
    skipped: Annotated[int, Field(ge=1)] | None = None
    kept: Annotated[int, Field(ge=1)] | None = None
    """Entries of the destination that were replaced, or removed before, and are kept."""
    copied: Copied | None = None
    seat: SenderId | None = None
    """The sender that finished; None: the first one."""

    @property
    def wire_bytes(self) -> int:
        """Bytes that crossed the network."""
        return max(self.sent_bytes - (self.saved_bytes or 0), 0)


class TransferDelivered(Delivered):
    """The sender that finished says so."""

    schema_version: Literal[1]
    type: Literal["Transfer Delivered"]
    transfer_id: TransferId

    @property
    def seat_id(self) -> str:
        """The sender that finished."""
        return self.seat or "s0"

    def outcome(self) -> dict[str, Any]:
        """Return what the task token's output will be."""
        said = set(Delivered.model_fields) - ({"seat"} if self.seat_id == "s0" else set())
        return {"delivered": self.model_dump(include=said, by_alias=True, exclude_none=True)}


class TransferFailed(Document):
    """An end gave up."""

    schema_version: Literal[1]
    type: Literal["Transfer Failed"]
    transfer_id: TransferId
    side: Role
    seat: SeatId
    epoch: Epoch
    error: str
    cause: str

    @model_validator(mode="before")
    @classmethod
    def _of_a_daemon_without_seats(cls, value: Any) -> Any:
        # One that an earlier deployment has started: its transfer is ended by name, and its last word is no defect.
        if isinstance(value, dict) and "seat" not in value and value.get("side") in ("sender", "receiver"):
            return {**value, "seat": f"{value['side'][0]}0"}
        return value

    def outcome(self) -> dict[str, Any]:
        """Error and cause of the task."""
        return {"error": self.error, "cause": f"{self.side}: {self.cause}"}


def outcome_of(text: object, transfer_id: str, seat_id: str) -> TransferDelivered | TransferFailed | None:
    """The outcome that one seat's record holds as JSON text; None where it is none of this transfer and seat."""
    delivered = _read(TransferDelivered, text) if role_of(seat_id) == "sender" else None
    failed = None if delivered else _read(TransferFailed, text)
    if failed is not None and (failed.seat, failed.side) != (seat_id, role_of(seat_id)):
        return None
    if delivered is not None and delivered.seat_id != seat_id:
        return None
    found = delivered or failed
    return found if found is not None and found.transfer_id == transfer_id else None


def _read(kind: type[Told], text: object) -> Told | None:
    try:
        return kind.model_validate_json(str(text), by_alias=True, by_name=False)
    except ValidationError:
        return None
