"""Bytes that senders have put on the wire, whichever of their processes did."""

from lambdas.core.documents import Count, Document
from lambdas.core.fleet.layout import FIRST_SENDER
from lambdas.core.transfer.seat import SenderId


class SeatSent(Document):
    """Bytes of payload that one sender has put on the wire, repeated ones included; packed ones as they are there.

    Processes of one start count on; those of the next begin at 0 again.
    """

    start: Count = 0
    start_bytes: Count = 0
    earlier_bytes: Count = 0

    @property
    def own_bytes(self) -> int:
        """Bytes sent by every process of this seat, restarted ones included."""
        return self.earlier_bytes + self.start_bytes

    def counted(self, start: int, wire_bytes: int) -> dict[str, int]:
        """What a report of a process of `start` changes; one of an earlier start comes late and changes nothing."""
        if start < self.start:
            return {}
        if start == self.start:
            return {"start_bytes": max(self.start_bytes, wire_bytes)}
        return {"start": start, "start_bytes": wire_bytes, "earlier_bytes": self.own_bytes}


class Sent(SeatSent):
    """The same of all senders; the numbers of the first stand in it as where there is one, `others` has the rest."""

    others: dict[SenderId, SeatSent] | None = None

    @property
    def bytes(self) -> int:
        """Bytes sent by every sender process of this transfer, restarted ones included."""
        return self.own_bytes + sum(seat.own_bytes for seat in (self.others or {}).values())

    def of(self, seat_id: str) -> SeatSent:
        """What one sender has sent."""
        return self if seat_id == FIRST_SENDER else (self.others or {}).get(seat_id, SeatSent())

    def after(self, start: int, wire_bytes: int, seat_id: str = FIRST_SENDER) -> "Sent":
        """With the report of a sender of `start`."""
        changes = self.of(seat_id).counted(start, wire_bytes)
        if seat_id == FIRST_SENDER:
            return self.model_copy(update=changes)
        others = {**(self.others or {}), seat_id: self.of(seat_id).model_copy(update=changes)}
        return self.model_copy(update={"others": others})
