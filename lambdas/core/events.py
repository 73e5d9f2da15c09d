"""Events from the ends (contract `event`)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from lambdas.core.chunk import FailureReason
from lambdas.core.documents import Count, Document, TransferId

Epoch = Annotated[int, Field(ge=1)]


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
    message: str


class RelaySlow(Document):
    """A relay carries far less than it should, MB/s."""

    schema_version: Literal[1]
    type: Literal["Relay Slow"]
    transfer_id: TransferId
    node_id: str
    rate: float = Field(alias="rateMBps", ge=0)
    expected: float = Field(alias="expectedMBps", ge=0)
    message: str


class TransferDelivered(Document):
    """Every chunk is delivered, every file renamed but those that were left out: `skipped` many entries."""

    schema_version: Literal[1]
    type: Literal["Transfer Delivered"]
    transfer_id: TransferId
    epoch: Epoch
    bytes: Count
    files: Count
    chunks: Count
    sent_bytes: Count
    repaired_chunks: Annotated[int, Field(ge=1)] | None = None
    skipped: Annotated[int, Field(ge=1)] | None = None

    def outcome(self) -> dict[str, Any]:
        """What the task token's output will be."""
        names = ("bytes", "files", "chunks", "sentBytes", "epoch", "repairedChunks", "skipped")
        document = self.to_document()
        return {"delivered": {name: document[name] for name in names if name in document}}


class TransferFailed(Document):
    """An end gave up."""

    schema_version: Literal[1]
    type: Literal["Transfer Failed"]
    transfer_id: TransferId
    side: Literal["sender", "receiver"]
    epoch: Epoch
    error: str
    cause: str

    def outcome(self) -> dict[str, Any]:
        """Error and cause of the task."""
        return {"error": self.error, "cause": f"{self.side}: {self.cause}"}
