"""What each machine did where an end had several."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.chunks.progress import Progress
from lambdas.core.documents import Count, Document, InstanceId
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.seat import SeatId


class SeatReport(Document):
    """Contract `report`, `seats`: a machine's part; `share`: of what its side moved. Unix seconds.

    `bytes`: those that its last process sent or received, repeated ones included.
    """

    seat_id: SeatId
    instance_id: InstanceId
    instance_type: str
    availability_zone: str
    bytes: Count
    share: Annotated[float, Field(ge=0, le=1)]
    rate: float = Field(alias="rateMBps")
    restarts: Annotated[int, Field(ge=1)] | None = None
    trouble: str | None = None
    """Why it could not be started the last time."""
    retired_at: float | None = None
    retired_because: str | None = None
    drained: Literal[True] | None = None
    """A person took it back, in good order."""


def build(record: TransferRecord, told: Mapping[str, Progress | None], seconds: float) -> list[SeatReport] | None:
    """All seats, senders first; None where there is one machine at each end. `seconds`: in which data moved."""
    transfer = record.transfer
    if len(transfer.senders) == len(transfer.receivers) == 1:
        return None
    retired = {one.seat_id: one for one in record.retired}
    found = []
    for seats in (transfer.senders, transfer.receivers):
        moved = {seat.seat_id: report.moved_bytes if (report := told.get(seat.seat_id)) else 0 for seat in seats}
        whole = sum(moved.values())
        for seat in seats:
            view = record.seats.of(seat.seat_id) if record.seats else None
            gone, size = retired.get(seat.seat_id), moved[seat.seat_id]
            found.append(
                SeatReport(
                    seat_id=seat.seat_id,
                    instance_id=seat.machine.instance_id,
                    instance_type=seat.machine.instance_type,
                    availability_zone=seat.machine.availability_zone,
                    bytes=size,
                    share=round(size / whole, 4) if whole else 0.0,
                    rate=round(size / 1e6 / seconds, 3) if seconds > 0 else 0.0,
                    restarts=(view.times or None) if view else None,
                    trouble=view.trouble if view else None,
                    retired_at=gone.at if gone else None,
                    retired_because=gone.why if gone else None,
                    drained=gone.drained if gone else None,
                )
            )
    return found
