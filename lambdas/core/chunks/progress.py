"""The reports of both ends."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document

# Far above what any transfer counts. DynamoDB keeps 38 digits.
LARGEST = 2**63


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
