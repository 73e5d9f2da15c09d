"""Judgement of which end has fallen silent, by its reports on the watcher's own clock, never by the end's.

An end reports every two seconds; the sequence in its report grows while it moves data or waits for somebody else.
Times are the watcher's, Unix seconds. Rates in MB/s (10^6 bytes).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Count, Document
from lambdas.core.seats.epochs import restarts_of, start_of
from lambdas.core.transfer.seat import Role, SeatId, role_of

Start = Annotated[int, Field(ge=1)]
# Fifteen reports: a table that throttles or a network that is cut for a moment loses a few.
UNHEARD_SECONDS = 30.0
# Start Transfer waits 100 s for an end to be ready; then the first report.
UNSTARTED_SECONDS = 100.0 + UNHEARD_SECONDS
# The receiver syncs so many chunks at once at most (`COMMIT_QUEUE` of the daemon); meanwhile neither end may advance.
UNSYNCED_CHUNKS = 1024
# The task's heartbeat is due every 300 s. A look each minute sees the end silent, restarts it and sends the heartbeat.
MOST_STILL_SECONDS = 300.0 - 2 * 60.0
# What has felled an end four times would fell it again.
MOST_RESTARTS = 3


def still_seconds(plan: TransferPlan, rate: float) -> float:
    """Return how long, s, a reporting end may stand still: twice the longest sync at the ends' rate (may be inf)."""
    unsynced = min(plan.bytes, UNSYNCED_CHUNKS * plan.chunk_size_bytes) / 1e6
    return min(UNHEARD_SECONDS + 2 * unsynced / rate, MOST_STILL_SECONDS)


class Restarts(Document):
    """Counts of how often each end was started again."""

    sender: Count
    receiver: Count


class SeatView(Document):
    """The watcher's view of one seat: the start that should run, its last report, and when that changed.

    `beat`: the sequence with which the task's last heartbeat was sent.
    """

    start: Start
    restarts: Count = 0
    came_back: Count = 0
    """Restarts of its process on its own machine in this start, and in earlier ones."""
    came_back_earlier: Count = 0
    reported_at: float | None = None
    sequence: Count = 0
    beat: Count | None = None
    heard: float
    advanced: float
    trouble: str | None = None
    """Why it could not be started the last time."""
    in_file_system: float | None = None
    """Seconds that its file system had kept it when it last reported, by its own clock; None if less than 5 s."""

    @property
    def advances(self) -> bool:
        """The end has advanced since the last heartbeat."""
        return self.reported_at is not None and (self.beat is None or self.sequence > self.beat)

    @property
    def times(self) -> int:
        """Restarts in all, by whomever."""
        return self.restarts + self.came_back + self.came_back_earlier

    def seen(self, report: Progress | None, now: float) -> "SeatView":
        """With one look more."""
        if report is None or start_of(report.epoch) < self.start:
            return self
        grown = self.reported_at is None or report.sequence > self.sequence
        heard = now if report.at != self.reported_at else self.heard
        advanced = now if grown else self.advanced
        changes: dict[str, object] = {
            "reported_at": report.at,
            "sequence": report.sequence,
            "heard": heard,
            "advanced": advanced,
        }
        changes |= {"in_file_system": report.in_file_system_seconds, "came_back": restarts_of(report.epoch)}
        return self.model_copy(update=changes)

    def given_time(self, now: float) -> "SeatView":
        """Its time begins anew: it may have waited for the other one."""
        return self.model_copy(update={"heard": now, "advanced": now})

    def unheard(self, now: float) -> bool:
        """Return whether its process is dead, or cut off from the control plane."""
        starts = self.reported_at is None and self.trouble is None
        return now - self.heard > (UNSTARTED_SECONDS if starts else UNHEARD_SECONDS)

    def still(self, now: float, seconds: float) -> bool:
        """Return whether it has reported the same for longer."""
        return self.reported_at is not None and now - self.advanced > seconds


class Seats(Document):
    """Attribute `seats` of the record `transfer`. `task` is the start of the task token; each writing is a version."""

    version: Count = 0
    task: Start
    seats: dict[SeatId, SeatView]
    """By seat."""

    @classmethod
    def begun(cls, task: int, now: float, seat_ids: Iterable[str], *, version: int = 0) -> "Seats":
        """All were started for the task token of start `task`."""
        begun = SeatView(start=task, heard=now, advanced=now)
        return cls(version=version, task=task, seats=dict.fromkeys(seat_ids, begun))

    def of(self, seat_id: str) -> SeatView | None:
        """One of them."""
        return self.seats.get(seat_id)

    @property
    def advance(self) -> bool:
        """All have advanced since the last heartbeat."""
        return all(seat.advances for seat in self.seats.values())

    @property
    def restarts(self) -> Restarts | None:
        """None where there was none."""
        times = Counter[Role]()
        for seat_id, seat in self.seats.items():
            times[role_of(seat_id)] += seat.times
        return Restarts(sender=times["sender"], receiver=times["receiver"]) if times.total() else None

    def only(self, seat_ids: Iterable[str]) -> "Seats":
        """Of these alone: others are retired, and neither silent nor waited for."""
        wanted = set(seat_ids)
        return self.model_copy(update={"seats": {name: seat for name, seat in self._all() if name in wanted}})

    def beaten(self) -> "Seats":
        """With a heartbeat for what was seen."""
        return self._with({name: seat.model_copy(update={"beat": seat.sequence}) for name, seat in self._all()})

    def seen(self, reports: Mapping[str, Progress | None], now: float) -> "Seats":
        """Return what one look more finds: the next version."""
        seats = self._with({name: seat.seen(reports.get(name), now) for name, seat in self._all()})
        return seats.model_copy(update={"version": self.version + 1})

    def silent(self, now: float, most_still: float) -> str | None:
        """Return the id of the one to start again.

        One that is not heard of comes before one that stands still, which may only wait for it; where both stand
        still, the sender waits for room at the receiver. It also does while the receiver's file system keeps that from
        its work, whichever of them stood still first.
        """
        unheard = [name for name, seat in self._all() if seat.unheard(now)]
        kept = any(role_of(name) == "receiver" and seat.in_file_system is not None for name, seat in self._all())
        waits = {name for name in self.seats if kept and role_of(name) == "sender"}
        still = [name for name, seat in self._all() if name not in waits and seat.still(now, most_still)]
        return next(iter(unheard or still), None)

    def restarted(self, seat_id: str, start: int, now: float) -> "Seats":
        """One of them begins anew as `start`; the others get time too."""
        changed = {name: seat.given_time(now) for name, seat in self._all()}
        old = changed[seat_id]
        # One that hangs in the file system again may do so before its first report.
        changed[seat_id] = SeatView(
            start=start,
            restarts=old.restarts + 1,
            came_back_earlier=old.came_back + old.came_back_earlier,
            heard=now,
            advanced=now,
            in_file_system=old.in_file_system,
        )
        return self._with(changed)

    def troubled(self, seat_id: str, trouble: str) -> "Seats":
        """It could not be started: the next version."""
        seats = self._with({seat_id: self.seats[seat_id].model_copy(update={"trouble": trouble})})
        return seats.model_copy(update={"version": self.version + 1})

    def _all(self) -> list[tuple[str, SeatView]]:
        """Return them with their ids, receivers first."""
        return sorted(self.seats.items())

    def _with(self, changed: Mapping[str, SeatView]) -> "Seats":
        return self.model_copy(update={"seats": {**self.seats, **changed}})
