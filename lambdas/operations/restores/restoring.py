"""Rounds of restoring: S3 is asked for all objects, and then it is looked how many are ready, until all are.

Each object is looked at before S3 is asked for it, so nothing is paid twice whatever function was killed, nor for an
object that is gone or replaced.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lambdas.adapters.archive_ports import Archive, ArchivedState
from lambdas.adapters.world import World
from lambdas.core.chunks.skipped import SkipReason
from lambdas.core.errors import RestoreOverdue, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.restores.rounds import (
    ROUND_SECONDS,
    ArchivedObject,
    RestoreProgress,
    RestoreRound,
    wait_seconds,
)
from lambdas.core.restores.summary import Restores
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.words import duration
from lambdas.operations.copies.listing import left_out_line
from lambdas.operations.copies.notebook import put_gone
from lambdas.operations.fence import serving
from lambdas.operations.restores.notebook import RestoreNotes
from lambdas.operations.restores.opening import open_archive, wish_of

# At 60 ms for a look and a request some 500 a second; S3 takes 1 000 requests to restore a second of an account.
AT_ONCE = 32
# So often it is noted how far the requests are, and looked whether the transfer goes on.
NOTED_OBJECTS = 20 * AT_ONCE
_WHY: dict[ArchivedState, tuple[SkipReason, str]] = {
    "gone": ("source-changed", "it is gone"),
    "replaced": ("source-changed", "it was replaced after it was listed"),
    "archived": ("source-unreadable", "it is archived: S3 has not restored it"),
}


def restore_round(world: World, transfer: AcceptedTransfer, before: RestoreRound) -> RestoreRound:
    """The next round; raises RestoreOverdue, RestoreRefused, MissingPermission, TransferFenced, Throttled."""
    record = serving(world, transfer, TransferRecord)
    if record.restores is None:
        raise TransferFenced(f"the record of {transfer.transfer_id} does not say what is to be restored")
    notes = RestoreNotes(world, transfer)
    progress = notes.progress()
    if progress is None:
        position = notes.position(before.number)
        if position is None:
            raise TransferFenced(f"the archived objects of {transfer.transfer_id} are not listed")
        progress = RestoreProgress.begin(position, world.clock.now())
        notes.put_progress(progress)
    restores = record.restores.asked_from(progress.asked_at, wish_of(transfer))
    work = _Round(world, transfer, notes, open_archive(world, transfer), restores, progress)
    has_time = work.ask() and work.look()
    return work.ended(before, has_time=has_time)


@dataclass
class _Round:
    """One function's part of it."""

    world: World
    transfer: AcceptedTransfer
    notes: RestoreNotes
    archive: Archive
    restores: Restores
    progress: RestoreProgress

    def __post_init__(self) -> None:
        self.began = self.world.clock.monotonic()

    def ask(self) -> bool:
        """Have S3 restore what it was not asked for; False where the time is over before."""
        for at, segment in enumerate(self.progress.segments):
            if segment.asked == segment.objects:
                continue
            objects = self.notes.segment(segment.name)
            for first in range(segment.asked, segment.objects, NOTED_OBJECTS):
                if self._is_late():
                    return False
                some = objects[first : first + NOTED_OBJECTS]
                self._ask_for(some, segment.storage_class)
                self.progress = self.progress.with_segment(at, asked=first + len(some))
                self._keep()
        return True

    def _ask_for(self, objects: Sequence[ArchivedObject], storage_class: str) -> None:
        days = self.restores.classes[storage_class].days

        def ask(one: ArchivedObject) -> None:
            if self.archive.look(one) == "archived":
                self.archive.ask(one, storage_class, days)

        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            for _ in pool.map(ask, objects):
                pass
        finally:
            # After a refusal S3 is asked for nothing more.
            pool.shutdown(cancel_futures=True)

    def look(self) -> bool:
        """Count what is ready, a segment after the other, up to the first that is not; False where the time is over."""
        for at, segment in enumerate(self.progress.segments):
            if segment.passed == segment.objects:
                continue
            objects = self.notes.segment(segment.name)
            is_on, passed, left = True, segment.passed, segment.left
            while is_on and passed < segment.objects:
                if self._is_late():
                    return False
                some = objects[passed : passed + AT_ONCE]
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    states = list(pool.map(self.archive.look, some))
                over = next((i for i, state in enumerate(states) if state == "restoring"), len(some))
                left += self._name_left(f"{segment.name}-{passed:05d}", some[:over], states[:over])
                is_on, passed = over == len(some), passed + over
                self.progress = self.progress.with_segment(at, passed=passed, left=left)
        return True

    def _name_left(self, name: str, objects: Sequence[ArchivedObject], states: Sequence[ArchivedState]) -> int:
        """List by name what can not be moved as it was listed; how many."""
        lines = [
            left_out_line(0, one.key, *_WHY[state]) for one, state in zip(objects, states, strict=True) if state in _WHY
        ]
        if lines:
            self.notes.put_left(name, lines)
        gone = [one.key for one, state in zip(objects, states, strict=True) if state == "gone"]
        if gone and self.transfer.errand.copies:
            # The copies list the source anew, and would not miss them.
            put_gone(self.world, self.transfer, name, gone)
        return len(lines)

    def ended(self, before: RestoreRound, *, has_time: bool) -> RestoreRound:
        """Note how far it is; raises RestoreOverdue where nobody waits any longer."""
        self._keep()
        now, until = self.world.clock.now(), self.restores.waits_until or 0.0
        if self.progress.is_over or not has_time:
            return before.model_copy(update={"done": self.progress.is_over, "wait_seconds": 0})
        if now >= until:
            told = self._told()
            raise RestoreOverdue(
                f"$.source.restore.maxWaitHours: {wish_of(self.transfer).max_wait_hours:g}: after "
                f"{duration(now - self.progress.asked_at)} {told.ready:,} of {told.objects:,} objects are restored; S3 "
                f"goes on with the others, and keeps each for {told.days} days: start again later, or with more hours"
            )
        return before.model_copy(
            update={"done": False, "wait_seconds": wait_seconds(now - self.progress.asked_at, until - now)}
        )

    def _is_late(self) -> bool:
        return self.world.clock.monotonic() - self.began >= ROUND_SECONDS

    def _keep(self) -> None:
        """Keep how far it is, for the next function and for those who watch; raises TransferFenced."""
        self.notes.put_progress(self.progress)
        serving(self.world, self.transfer, TransferRecord)
        self.world.transfers.change(self.transfer, transfer_life.note(restores=self._told()))

    def _told(self) -> Restores:
        segments = self.progress.segments
        left = sum(one.left for one in segments)
        counts = {"asked": sum(one.asked for one in segments), "left": left}
        counts["ready"] = sum(one.passed for one in segments) - left
        return self.restores.model_copy(update={**counts, "where": self.notes.left_folder if left else None})
