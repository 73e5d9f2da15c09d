"""Judgement of which end has fallen silent, by its reports on the watcher's own clock, never by the end's.

An end reports every two seconds; the sequence in its report grows while it moves data or waits for somebody else.
Times are the watcher's, Unix seconds. Rates in MB/s (10^6 bytes).
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from lambdas.core.chunks.progress import Progress, Side
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Count, Document
from lambdas.core.seats.epochs import restarts_of, start_of

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


class End(Document):
    """The watcher's view of one end: the start that should run, its last report, and when that changed.

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

    def seen(self, report: Progress | None, now: float) -> "End":
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

    def given_time(self, now: float) -> "End":
        """Its time begins anew: it may have waited for the other one."""
        return self.model_copy(update={"heard": now, "advanced": now})

    def unheard(self, now: float) -> bool:
        """Return whether its process is dead, or cut off from the control plane."""
        starts = self.reported_at is None and self.trouble is None
        return now - self.heard > (UNSTARTED_SECONDS if starts else UNHEARD_SECONDS)

    def still(self, now: float, seconds: float) -> bool:
        """Return whether it has reported the same for longer."""
        return self.reported_at is not None and now - self.advanced > seconds


class Ends(Document):
    """Attribute `ends` of the record `transfer`. `task` is the start of the task token; each writing is a version."""

    version: Count = 0
    task: Start
    sender: End
    receiver: End | None = None
    """None where nothing is moved but measured."""

    @classmethod
    def begun(cls, task: int, now: float, *, receives: bool, version: int = 0) -> "Ends":
        """Both were started for the task token of start `task`."""
        end = End(start=task, heard=now, advanced=now)
        return cls(version=version, task=task, sender=end, receiver=end if receives else None)

    def of(self, side: Side) -> End | None:
        """One of them."""
        return self.sender if side == "sender" else self.receiver

    @property
    def advance(self) -> bool:
        """All ends have advanced since the last heartbeat."""
        return all(end.advances for _, end in self._all())

    @property
    def restarts(self) -> Restarts | None:
        """None where there was none."""
        count = Restarts(sender=self.sender.times, receiver=self.receiver.times if self.receiver else 0)
        return count if count.sender or count.receiver else None

    def beaten(self) -> "Ends":
        """With a heartbeat for what was seen."""
        return self._with({side: end.model_copy(update={"beat": end.sequence}) for side, end in self._all()})

    def seen(self, reports: Mapping[Side, Progress | None], now: float) -> "Ends":
        """Return what one look more finds: the next version."""
        ends = self._with({side: end.seen(reports.get(side), now) for side, end in self._all()})
        return ends.model_copy(update={"version": self.version + 1})

    def silent(self, now: float, most_still: float) -> Side | None:
        """The one to start again.

        One that is not heard of comes before one that stands still, which may only wait for it; where both stand
        still, the sender waits for room at the receiver. It also does while the receiver's file system keeps that from
        its work, whichever of them stood still first.
        """
        unheard = [side for side, end in self._all() if end.unheard(now)]
        waits = {"sender"} if self.receiver and self.receiver.in_file_system is not None else set()
        still = [side for side, end in self._all() if side not in waits and end.still(now, most_still)]
        return next(iter(unheard or still), None)

    def restarted(self, side: Side, start: int, now: float) -> "Ends":
        """One of them begins anew as `start`; the other one gets time too."""
        changed = {other: end.given_time(now) for other, end in self._all()}
        old = changed[side]
        # One that hangs in the file system again may do so before its first report.
        changed[side] = End(
            start=start,
            restarts=old.restarts + 1,
            came_back_earlier=old.came_back + old.came_back_earlier,
            heard=now,
            advanced=now,
            in_file_system=old.in_file_system,
        )
        return self._with(changed)

    def troubled(self, side: Side, trouble: str) -> "Ends":
        """It could not be started: the next version."""
        ends = self._with({s: e.model_copy(update={"trouble": trouble}) for s, e in self._all() if s == side})
        return ends.model_copy(update={"version": self.version + 1})

    def _all(self) -> list[tuple[Side, End]]:
        """Return the ends that were started with their sides, the receiver first."""
        both: list[tuple[Side, End | None]] = [("receiver", self.receiver), ("sender", self.sender)]
        return [(side, end) for side, end in both if end is not None]

    def _with(self, changed: Mapping[Side, End]) -> "Ends":
        return self.model_copy(update={str(side): end for side, end in changed.items()})
