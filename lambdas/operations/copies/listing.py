"""A round of the listing: what is to be copied is cut into units, from where the last round ended."""

from collections import Counter
from collections.abc import Iterator
from json import dumps
from urllib.parse import quote

from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.world import World
from lambdas.core.copies.comparing import Found, Verdict, judge, side_by_side
from lambdas.core.copies.listed import Listed, Noted, Task
from lambdas.core.copies.outcome import NotCopied
from lambdas.core.copies.parts import MIB, requests_of
from lambdas.core.copies.selecting import Selector
from lambdas.core.copies.units import ROUND_SECONDS, Packing, Position, Round
from lambdas.core.ends import archived
from lambdas.core.ends.archived import Amount
from lambdas.core.ends.landing import KEPT_NAME
from lambdas.core.errors import SurveyProblem
from lambdas.core.survey.survey import UnselectedReason
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.by_keys import Absent, found_of
from lambdas.operations.copies.notebook import Notebook

# S3's own bound: a prefix may make a key too long.
MOST_KEY_BYTES = 1_024
_SEGMENT = 50_000


class Listing:
    """One round."""

    def __init__(self, world: World, transfer: AcceptedTransfer, buckets: Buckets, number: int, width: int) -> None:
        self._world, self._transfer, self._buckets, self._width = world, transfer, buckets, width
        self._notebook = Notebook(world, transfer)
        source, destination = transfer.copied_ends
        self._prefix, self._by_keys = destination.prefix, source.keys is not None
        request = transfer.request
        self._number, self._packing = number, Packing(number)
        self._selector = Selector(request.select.command(transfer.execution_started_at))
        self._part_bytes = request.chunk_size_mib and request.chunk_size_mib * MIB
        self._counts, self._tasks = Counter[str](), list[Task]()
        self._kept, self._unselected, self._left = list[Noted](), list[bytes](), list[bytes]()
        self._segments = Counter[str]()
        self._rule = source.archived
        self._archived: dict[str, Amount] = {}
        self._first_archived, self._where = "", source.where

    def run(self) -> Position:
        """List until the units are full, the time is over, or the source has ended; where that was."""
        before = self._notebook.position(self._number - 1)
        if self._number == 1 and not self._by_keys:
            # One of some keys says nothing of the others, and knows by checksums what was copied.
            self._notebook.begin()
        after = before.after if before else None
        self._counts.update(before.counts if before else {})
        if self._number == 1 and self._rule == "restore" and not self._by_keys:
            self._take_gone()
        began, done = self._world.clock.monotonic(), True
        for found in self._found(after):
            if isinstance(found, Absent):
                after = found.key
                self._take_absent(found)
                continue
            after = found.source.key
            self._take(found)
            full = self._packing.full and not self._archived
            if full or self._world.clock.monotonic() - began >= ROUND_SECONDS:
                done = False
                break
        if self._archived:
            # Nothing of this round is copied, and it is listed again should its answer be lost.
            refused = archived.refusal(self._archived, self._first_archived, at_least=not done)
            raise SurveyProblem(f"$.source.archived: 'refuse', and of '{self._where}' {refused}")
        self._flush_tasks()
        self._flush_kept()
        self._flush_unselected()
        if self._left:
            self._notebook.put_left(f"listing-{self._number:05d}", self._left)
        for kind, count in self._buckets.requests().items():
            self._counts[f"request {kind}"] += count
        position = Position(
            round=Round(number=self._number, units=self._packing.count, done=done, width=self._width),
            after=after,
            counts=dict(self._counts),
            seconds=(before.seconds if before else 0.0) + self._world.clock.monotonic() - began,
        )
        # Last: a round that was cut off is listed again from its beginning.
        self._notebook.put_position(position)
        return position

    def _found(self, after: str | None) -> Iterator[Found | Absent]:
        if self._by_keys:
            return found_of(self._buckets, self._notebook.keys_behind(after))
        return side_by_side(self._buckets.source(after), self._buckets.there(after), self._notebook.earlier(after))

    def _take_gone(self) -> None:
        """Name what is gone since it was listed to be restored: no listing finds it any more."""
        for key in self._notebook.gone():
            self._take_absent(Absent(key, NotCopied("source-changed", "it is gone")))

    def _take_absent(self, one: Absent) -> None:
        if one.why is None:
            self._add_unselected(one.key, "gone", self._counts["listed"])
            return
        # It was to be copied, as far as anybody knows.
        self._counts.update(("listed", Verdict.NEW.value))
        self._leave_out(one.key, one.why)

    def _unselected_because(self, one: Listed) -> UnselectedReason | None:
        if one.key.split("/", 1)[0].startswith(KEPT_NAME):
            return "leftover"
        return self._selector.leaves_out(one) or ("archived" if one.archived and self._rule == "skip" else None)

    def _refuse_archived(self, one: Listed) -> None:
        """Count it: how many there are, and of how many bytes, says what restoring them costs."""
        before = self._archived.get(one.storage_class, Amount(0, 0))
        self._archived[one.storage_class] = Amount(before.objects + 1, before.bytes + one.size)
        self._first_archived = self._first_archived or one.key

    def _leave_unselected(self, one: Listed, reason: UnselectedReason) -> None:
        self._add_unselected(one.key, reason, self._counts["listed"] - 1)

    def _add_unselected(self, key: str, reason: UnselectedReason, before: int) -> None:
        self._counts[f"unselected {reason}"] += 1
        line = {"path": _path(key), "reason": reason, "before": before}
        self._unselected.append(dumps(line, separators=(",", ":")).encode() + b"\n")
        if len(self._unselected) >= _SEGMENT:
            self._flush_unselected()

    def _take(self, found: Found) -> None:
        request, source = self._transfer.request, found.source
        self._counts["listed"] += 1
        self._counts["listedBytes"] += source.size
        if (reason := self._unselected_because(source)) is not None:
            self._leave_unselected(source, reason)
            return
        if source.archived and self._rule == "refuse":
            self._refuse_archived(source)
            return
        verdict = judge(found, request.overwrite, all_again=request.resend_all)
        self._counts[verdict.value] += 1
        self._counts[f"{verdict.value}Bytes"] += source.size
        if verdict is Verdict.SAME and found.there is not None:
            self._kept.append(Noted(source.key, source.size, source.etag, source.modified, found.there.etag))
            if len(self._kept) >= _SEGMENT:
                self._flush_kept()
        elif verdict in (Verdict.NEW, Verdict.CHANGED):
            if len(f"{self._prefix}{source.key}".encode()) > MOST_KEY_BYTES:
                why = f"its key would have more than {MOST_KEY_BYTES} bytes"
                self._leave_out(source.key, NotCopied("destination-refused", why))
                return
            self._counts["writes"] += requests_of(source.size, self._part_bytes)
            if not request.dry_run:
                self._add(Task(source, found.there.etag if found.there else None, self._counts["listed"] - 1))

    def _leave_out(self, key: str, why: NotCopied) -> None:
        self._counts["left"] += 1
        self._left.append(left_out_line(self._counts["listed"] - 1, key, why.reason, why.message))

    def _add(self, task: Task) -> None:
        if self._packing.is_next(requests_of(task.source.size, self._part_bytes)):
            self._flush_tasks(self._packing.unit - 1)
        self._tasks.append(task)

    def _flush_tasks(self, unit: int | None = None) -> None:
        if self._tasks:
            self._notebook.put_tasks(self._number, self._packing.unit if unit is None else unit, self._tasks)
            self._tasks = []

    def _flush_kept(self) -> None:
        if self._kept:
            self._notebook.put_kept(self._number, self._segments["kept"], self._kept)
            self._kept, self._segments["kept"] = [], self._segments["kept"] + 1

    def _flush_unselected(self) -> None:
        if self._unselected:
            self._notebook.put_unselected(self._number, self._segments["unselected"], self._unselected)
            self._unselected, self._segments["unselected"] = [], self._segments["unselected"] + 1


def left_out_line(number: int, key: str, reason: str, message: str) -> bytes:
    """A line of contract `skipped-entry`."""
    line = {"entry": number, "kind": "file", "path": _path(key), "reason": reason, "message": message}
    return dumps(line, separators=(",", ":")).encode() + b"\n"


def _path(key: str) -> str:
    """A key as the lists of entries have paths."""
    return quote(key.encode("utf-8", "surrogatepass"), safe="/~") or "%00"
