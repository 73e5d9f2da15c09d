"""A chunk's life: its keys, its item and its transitions."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document, PlanId
from lambdas.core.transfer.partition import Partition, machines_in
from lambdas.core.transfer.seat import ReceiverId, SenderId

RANGE_SIZE = 128
# The item of the finish, in the first range of all, whatever the plan.
FINISH_RANGE, FINISH_KEY = 0, "finish"
# 2.56 million chunks, more than one planner writes in its 15 minutes; seven digits of ranges are enough for 500 plans.
RANGES_PER_RUN = 20_000
# Of a transfer with several machines at an end, each of which takes range by range. One that is a quarter as fast as
# three others has a thirteenth of the ranges: of 768 chunks 15, and the last of them makes the end late by 7 % at most.
RANGE_SIZE_OF_MANY = 4
# 800 000 chunks, and 50 plans.
RANGES_PER_RUN_OF_MANY = 200_000
ChunkState = Literal["PENDING", "DELIVERED", "FAILED"]
FailureReason = Literal[
    "checksum-mismatch", "stream-lost", "source-changed", "source-unreadable", "destination-error", "lease-expired"
]


def range_key(partition: Partition, range_number: int) -> str:
    """Partition key of a range of chunks; ranges spread a transfer over the table's partitions."""
    return f"{partition}#{range_number:07d}"


def range_size(partition: Partition) -> int:
    """Chunks of a range."""
    return RANGE_SIZE_OF_MANY if machines_in(partition) > 2 else RANGE_SIZE


def first_range(partition: Partition, run: int) -> int:
    """The first range of a run, from 1."""
    return (run - 1) * (RANGES_PER_RUN_OF_MANY if machines_in(partition) > 2 else RANGES_PER_RUN)


def item_key(chunk: int) -> str:
    """Sort key within the range."""
    return f"{chunk:09d}"


class Finish(Document):
    """The seats that finish a transfer of several machines: the sender that has taken this, and its receiver."""

    seat: SenderId
    epoch: Annotated[int, Field(ge=1)]
    receiver: ReceiverId

    @classmethod
    def told(cls, item: Mapping[str, Any]) -> "Finish | None":
        """What an item says; None where it is none: an end may write anything there."""
        try:
            return cls.from_document({name: item[name] for name in ("seat", "epoch", "receiver") if name in item})
        except ValidationError:
            return None


class Chunk(Document):
    """Contract `chunk`; times in Unix seconds, sizes in bytes."""

    range_key: Annotated[str, Field(pattern=r"^[A-Za-z0-9_:/+-]+#[0-9]{7}$")]
    item_key: Annotated[str, Field(pattern=r"^[0-9]{9}$")]
    chunk: Count
    state: ChunkState
    attempt: Annotated[int, Field(ge=1)]
    plan_id: PlanId
    phase: Annotated[int, Field(ge=0, le=1)]
    manifest_key: str
    manifest_start: Count
    manifest_end: Count
    bytes: Count
    files: Count
    expires_at: Count | None = None
    not_before: float | None = None
    reason: str | None = None
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    path_id: str | None = None
    lane: Count | None = None
    started_at: float | None = None
    delivered_at: float | None = None
    failed_attempt: Annotated[int, Field(ge=1)] | None = None

    @property
    def awaits_policy(self) -> bool:
        """The sender saw this attempt fail and nobody has decided what follows."""
        return self.state == "PENDING" and self.failed_attempt == self.attempt
