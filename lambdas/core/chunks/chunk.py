"""A chunk's life: its keys, its item and its transitions."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, PlanId
from lambdas.core.transfer.partition import Partition

RANGE_SIZE = 128
# 2.56 million chunks, more than one planner writes in its 15 minutes; seven digits of ranges are enough for 500 plans.
RANGES_PER_RUN = 20_000
ChunkState = Literal["PENDING", "DELIVERED", "FAILED"]
FailureReason = Literal[
    "checksum-mismatch", "stream-lost", "source-changed", "source-unreadable", "destination-error", "lease-expired"
]


def range_key(partition: Partition, range_number: int) -> str:
    """Partition key of a range of 128 chunks; ranges spread a transfer over the table's partitions."""
    return f"{partition}#{range_number:07d}"


def item_key(chunk: int) -> str:
    """Sort key within the range."""
    return f"{chunk:09d}"


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
