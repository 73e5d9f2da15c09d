"""What the ends report, and what a watcher may conclude from it without comparing two clocks."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from lambdas.core.documents import Count, Document


class LaneProgress(Document):
    """One live lane."""

    path_id: str
    lane: Count
    bytes: Count
    rate: float = Field(alias="rateMBps")


class Progress(Document):
    """Contract `progress`."""

    schema_version: Literal[1]
    epoch: Annotated[int, Field(ge=1)]
    sequence: Count
    bytes: Count
    moved_bytes: Count = 0
    chunks: Count
    files: Count
    failed_chunks: Count
    rate: float = Field(alias="rateMBps")
    at: float
    first_byte_at: float | None = None
    lanes: list[LaneProgress]


class Look(NamedTuple):
    """What a watcher saw at one end: epoch and sequence."""

    epoch: int
    sequence: int

    def encoded(self) -> str:
        """As stored beside the task token."""
        return f"{self.epoch}.{self.sequence}"
