"""The machines at the ends of a transfer, as their records tell it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lambdas.core.transfer.seat import role_of

Condition = Literal["unheard", "working", "draining", "drained", "given-up"]


@dataclass(frozen=True)
class SeatState:
    """One machine. Bytes, MB/s; `is_silent`: it has not reported yet."""

    seat_id: str
    instance_id: str
    region: str
    delivered_bytes: int = 0
    megabytes_per_second: float = 0.0
    is_silent: bool = True
    is_retired: bool = False
    is_drained: bool = False
    """A person took it back."""
    is_gone: bool = False
    """Its machine is stopped, or its daemon says that it has ended."""
    retired_at: float | None = None
    retired_because: str | None = None
    last_error: str | None = None

    @property
    def sends(self) -> bool:
        """It is at the source."""
        return role_of(self.seat_id) == "sender"

    @property
    def condition(self) -> Condition:
        """What it does; one that drains still hands over what it has."""
        if self.is_drained:
            return "drained" if self.is_gone else "draining"
        if self.is_retired:
            return "given-up"
        return "unheard" if self.is_silent else "working"

    @property
    def words(self) -> str:
        """The same for people."""
        working = "sends" if self.sends else "receives"
        return {"unheard": "not heard of yet", "working": working, "given-up": "given up"}.get(
            self.condition, self.condition
        )


def seats_of(
    transfer: Mapping[str, Any],
    reports: Mapping[str, Mapping[str, Any]],
    failures: Mapping[str, Mapping[str, Any]],
    membership: Mapping[str, Any],
) -> tuple[SeatState, ...]:
    """The seats of a transfer's record, senders first; `reports` and `failures` by seat."""
    followed = {seat["seatId"]: seat for seat in membership.get("retired", [])}
    noted = {seat["seatId"]: seat for seat in transfer.get("retired", [])}
    return tuple(
        _seat(seat, reports.get(seat["seatId"]), failures.get(seat["seatId"]) or {}, {**followed, **noted})
        for end in ("source", "destination")
        for seat in transfer.get(end, [])
    )


def _seat(
    seat: Mapping[str, Any],
    report: Mapping[str, Any] | None,
    failure: Mapping[str, Any],
    retired: Mapping[str, Mapping[str, Any]],
) -> SeatState:
    told, left = report or {}, retired.get(seat["seatId"])
    machine = seat["machine"]
    return SeatState(
        seat_id=seat["seatId"],
        instance_id=machine["instanceId"],
        region=machine["region"],
        delivered_bytes=int(told.get("bytes", 0)),
        megabytes_per_second=float(told.get("rateMBps", 0.0)),
        is_silent=report is None,
        is_retired=left is not None,
        is_drained=left is not None and bool(left.get("drained")),
        is_gone=left is not None and (bool(left["isGone"]) or _has_ended(told, left)),
        retired_at=left.get("at") if left else None,
        retired_because=left.get("why") if left else None,
        last_error=": ".join(str(failure[name]) for name in ("error", "cause") if failure.get(name)) or None,
    )


def _has_ended(told: Mapping[str, Any], left: Mapping[str, Any]) -> bool:
    """Whether the last process of a retired seat has said that it writes nothing any more."""
    return bool(told.get("hasEnded")) and int(told.get("epoch", 0)) <= int(left["epoch"])
