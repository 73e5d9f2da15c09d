"""The reports of both ends."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document

Side = Literal["sender", "receiver"]


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
    saved_bytes: Annotated[int, Field(ge=1)] | None = None
    """Of `moved_bytes`, those for which nothing crossed the network: holes of sparse files, what packing saved, and
    what the destination had of changed files."""
    chunks: Count
    files: Count
    failed_chunks: Count
    rate: float = Field(alias="rateMBps")
    at: float
    first_byte_at: float | None = None
    in_file_system_seconds: Annotated[float, Field(ge=0)] | None = None
    """Seconds that a call of the destination's file system has kept the receiver, by its own clock; None below 5 s."""
    lanes: list[LaneProgress]

    @property
    def wire_bytes(self) -> int:
        """Bytes that crossed the network, those that were repeated included."""
        return max(self.moved_bytes - (self.saved_bytes or 0), 0)
