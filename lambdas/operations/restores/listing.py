"""Rounds of the listing of archived objects: what is to be restored is noted in segments, and its price is told.

Nothing is restored, and nothing is paid but listings.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.world import World
from lambdas.core.copies.comparing import Found, Verdict, judge, side_by_side
from lambdas.core.copies.listed import Listed, order
from lambdas.core.copies.outcome import NotCopied
from lambdas.core.copies.parts import MIB, requests_of
from lambdas.core.copies.selecting import Selector
from lambdas.core.copies.summary import planned_usd
from lambdas.core.ends.key_list import read
from lambdas.core.ends.landing import KEPT_NAME
from lambdas.core.ends.retrieval import tiers_of
from lambdas.core.errors import BudgetTooSmall, SurveyProblem
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.restores.rounds import (
    ROUND_SECONDS,
    SEGMENT_OBJECTS,
    ArchivedObject,
    ArchivedPosition,
    RestoreRound,
    segment_name,
)
from lambdas.core.restores.summary import Restores
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.words import dollars
from lambdas.operations.copies.by_keys import AT_ONCE, Absent, found_of
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.fence import serving
from lambdas.operations.intake import listed_keys
from lambdas.operations.restores.notebook import RestoreNotes
from lambdas.operations.restores.opening import open_source, source_of, wish_of


def list_round(world: World, transfer: AcceptedTransfer, before: RestoreRound | None) -> RestoreRound:
    """The next round; raises SurveyProblem, BudgetTooSmall, TransferFenced."""
    serving(world, transfer, TransferRecord)
    notes = RestoreNotes(world, transfer)
    number = before.number + 1 if before else 1
    if number == 1:
        listed_keys.share(world, transfer, notes.keys_folder)
    # Where an answer was lost, what its function has found is given again.
    position = notes.position(number) or _Listing(world, transfer, open_source(world, transfer), number).run()
    objects = position.count
    if position.done and objects:
        _tell(world, transfer, position)
    return RestoreRound(
        number=number, listed=position.done, objects=objects, done=position.done and not objects, wait_seconds=0
    )


class _Listing:
    """One round."""

    def __init__(self, world: World, transfer: AcceptedTransfer, buckets: Buckets, number: int) -> None:
        self._world, self._transfer, self._buckets = world, transfer, buckets
        self._notes, self._number = RestoreNotes(world, transfer), number
        request = transfer.request
        self._selector = Selector(request.select.command(transfer.execution_started_at))
        self._part_bytes = request.chunk_size_mib and request.chunk_size_mib * MIB
        before = self._notes.position(number - 1) or ArchivedPosition(number=0, done=False)
        self._before = before
        self._objects, self._bytes = Counter(before.objects), Counter(before.bytes)
        self._segments = {name: list(counts) for name, counts in before.segments.items()}
        self._first = dict(before.first)
        self._planned = Counter({"": before.planned, "bytes": before.planned_bytes, "writes": before.writes})
        self._open: dict[str, list[ArchivedObject]] = {}

    def run(self) -> ArchivedPosition:
        """List until the time is over, or the source has ended; what all rounds have found."""
        after, done, began = self._before.after, True, self._world.clock.monotonic()
        for found in self._found(after):
            if isinstance(found, Absent):
                after = found.key
                continue
            after = found.source.key
            self._take(found)
            if self._world.clock.monotonic() - began >= ROUND_SECONDS:
                done = False
                break
        for name in list(self._open):
            self._flush(name)
        position = ArchivedPosition(
            number=self._number,
            done=done,
            after=after,
            objects=dict(self._objects),
            bytes=dict(self._bytes),
            segments=self._segments,
            first=self._first,
            planned=self._planned[""],
            planned_bytes=self._planned["bytes"],
            writes=self._planned["writes"],
        )
        # Last: a round that was cut off is listed again from its beginning.
        self._notes.put_position(position)
        return position

    def _found(self, after: str | None) -> Iterator[Found | Absent]:
        """Where S3 copies, with what the destination has: what is there already need not be restored."""
        copies = self._transfer.errand.copies
        if source_of(self._transfer).keys is not None:
            keys = self._keys_behind(after)
            return found_of(self._buckets, keys) if copies else self._found_here(keys)
        if copies:
            earlier = Notebook(self._world, self._transfer).earlier(after)
            return side_by_side(self._buckets.source(after), self._buckets.there(after), earlier)
        return (Found(one, None) for one in self._buckets.source(after))

    def _found_here(self, keys: Iterator[str]) -> Iterator[Found | Absent]:
        def look(key: str) -> Found | Absent:
            try:
                found = self._buckets.find(key)
            except NotCopied as why:
                return Absent(key, why)  # the transfer names it
            return Absent(key) if found is None else Found(found.listed, None)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            while batch := list(islice(keys, AT_ONCE)):
                yield from pool.map(look, batch)

    def _keys_behind(self, after: str | None) -> Iterator[str]:
        cut = len(source_of(self._transfer).prefix)
        for part in self._world.objects.keys(self._notes.keys_folder):
            keys = (entry.key[cut:] for entry in read(self._world.objects.lines(part)))
            yield from (key for key in keys if after is None or order(key) > order(after))

    def _take(self, found: Found) -> None:
        request, one = self._transfer.request, found.source
        if one.key.split("/", 1)[0].startswith(KEPT_NAME) or self._selector.leaves_out(one):
            return
        verdict = judge(found, request.overwrite, all_again=request.resend_all)
        if verdict not in (Verdict.NEW, Verdict.CHANGED):
            return
        self._planned.update({"": 1, "bytes": one.size, "writes": requests_of(one.size, self._part_bytes)})
        if one.archived:
            self._add(one)

    def _add(self, one: Listed) -> None:
        name = one.storage_class
        self._objects[name] += 1
        self._bytes[name] += one.size
        self._first.setdefault(name, one.key)
        held = self._open.setdefault(name, [])
        held.append(ArchivedObject(one.key, one.size, one.etag))
        if len(held) >= SEGMENT_OBJECTS:
            self._flush(name)

    def _flush(self, name: str) -> None:
        if objects := self._open.pop(name, []):
            counts = self._segments.setdefault(name, [])
            self._notes.put_segment(segment_name(name, len(counts)), objects)
            counts.append(len(objects))


def _tell(world: World, transfer: AcceptedTransfer, position: ArchivedPosition) -> None:
    """Note what restoring takes; raises SurveyProblem for a tier that S3 has not, BudgetTooSmall where S3 copies."""
    source, wish = source_of(transfer), wish_of(transfer)
    for name, amount in sorted(position.amounts.items()):
        tiers = tiers_of(name)
        if wish.tier not in tiers:
            raise SurveyProblem(
                f"$.source.restore.tier: '{wish.tier}', and of '{source.where}' {amount.objects:,} objects are of "
                f"{name}, '{position.first[name]}' the first of them, which S3 restores by {' or '.join(tiers)} only; "
                "write one of these, or leave them out by $.select; nothing was restored"
            )
    restores = Restores.of(position.amounts, wish)
    world.transfers.change(transfer, transfer_life.note(restores=restores))
    most = transfer.request.objective.max_cost_usd
    if not transfer.errand.copies or most is None or transfer.request.dry_run:
        return  # with a machine at an end, the estimate holds the budget
    copies = planned_usd(position.planned, position.writes, transfer.copied_ends[1].storage_class)
    if restores.total_usd + copies > most:
        raise BudgetTooSmall(
            f"$.objective.maxCostUsd: {most}, and {restores.price_in_words}; with {dollars(copies)} of requests to "
            f"copy that is {dollars(restores.total_usd + copies)}; give that much, another $.source.restore.tier, or "
            "leave some out by $.select; nothing was restored"
        )
