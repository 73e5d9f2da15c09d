"""The reports of both ends."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document
from lambdas.core.transfer.seat import ReceiverId, SenderId

# Far above what any transfer counts. DynamoDB keeps 38 digits.
LARGEST = 2**63
# A report that is so much older than the newest one, by the ends' clocks, is of a daemon that is dead or cut off.
STALE_SECONDS = 30.0


class LaneProgress(Document):
    """One live lane."""

    path_id: str
    lane: Count
    bytes: Count
    rate: float = Field(alias="rateMBps")


class ClosedFor(Document):
    """The lease of the finish that a receiver has closed for: it writes nothing any more."""

    seat: SenderId
    epoch: Annotated[int, Field(ge=1)]
    receiver: ReceiverId


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
    membership_version: Count | None = None
    """Of a receiver: the membership whose retired senders it has cut off."""
    closed_for: ClosedFor | None = None
    """Of a receiver that leaves the finish to another."""
    has_ended: Literal[True] | None = None
    """Of a seat that was retired: nothing of this process is written any more."""
    lanes: list[LaneProgress]

    @classmethod
    def told(cls, text: object) -> Self | None:
        """What the JSON text of a record says; None where it is no report: an end may write anything there."""
        try:
            found = cls.model_validate_json(str(text), by_alias=True, by_name=False)
        except ValidationError:
            return None
        return found if found.fits else None

    @property
    def fits(self) -> bool:
        """Its numbers are such as tables hold: what is kept of a report is written into the transfer's record."""
        numbers = [*self._numbers(self), *(one for lane in self.lanes for one in self._numbers(lane))]
        return all(abs(number) <= LARGEST for number in numbers)

    @staticmethod
    def _numbers(document: Document) -> list[float]:
        return [value for _, value in document if isinstance(value, int | float)]

    @property
    def wire_bytes(self) -> int:
        """Bytes that crossed the network, those that were repeated included."""
        return max(self.moved_bytes - (self.saved_bytes or 0), 0)

    def moved_for(self, wire_bytes: int) -> int:
        """Bytes that ends have read and written where so many crossed the network: as many for each as here."""
        if not self.wire_bytes:
            return max(wire_bytes, self.moved_bytes)
        return max(round(wire_bytes * self.moved_bytes / self.wire_bytes), wire_bytes, self.moved_bytes)


def together(reports: Sequence[Progress]) -> Progress | None:
    """What the daemons of one side have done in all; rates and lanes are those of the ones that still report.

    None of none; of one its report as it is.
    """
    if len(reports) < 2:
        return next(iter(reports), None)
    newest = max(reports, key=lambda report: report.at)
    live = [report for report in reports if newest.at - report.at <= STALE_SECONDS]
    began = [report.first_byte_at for report in reports if report.first_byte_at is not None]
    return newest.model_copy(
        update={
            "epoch": max(report.epoch for report in reports),
            "sequence": sum(report.sequence for report in reports),
            "bytes": sum(report.bytes for report in reports),
            "moved_bytes": sum(report.moved_bytes for report in reports),
            "saved_bytes": sum(report.saved_bytes or 0 for report in reports) or None,
            "chunks": sum(report.chunks for report in reports),
            "files": sum(report.files for report in reports),
            "failed_chunks": sum(report.failed_chunks for report in reports),
            "rate": sum(report.rate for report in live),
            "first_byte_at": min(began, default=None),
            "lanes": [lane for report in live for lane in report.lanes],
        }
    )
