"""One object, copied at once or by parts; whatever a killed function has begun of it is gone on with."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from lambdas.adapters.copy_ports import Buckets, Condition, Copy, Sent, Source
from lambdas.adapters.world import World
from lambdas.core.copies import proof
from lambdas.core.copies.listed import Task
from lambdas.core.copies.outcome import NotCopied, Result, Taken, UploadGone
from lambdas.core.copies.parts import Part, Parts, parts_of
from lambdas.core.request.replacing import Overwrite

_PARTS_AHEAD = 64
"""Parts of one object that are in flight or wait: as many as all threads have, twice."""
_TRIES = 3
"""Times that an upload is begun again that somebody has aborted, or that collides with another write."""
# An upload begun before its note was written differs from that by the clocks of S3 and of the function.
_CLOCK_SECONDS = 60.0


class Stopped(Exception):  # noqa: N818
    """The function's time is over, or the transfer is fenced: what is not done is another one's."""


class UploadNote(NamedTuple):
    """An object whose upload is not completed; without an id, it is about to be begun."""

    key: str
    etag: str
    part_bytes: int
    begun: float
    upload_id: str | None
    written: str = ""
    """How the object is kept: an upload that was begun otherwise is of no use."""


class UploadNotes:
    """Notes of uploads, in the control bucket."""

    def __init__(self, world: World, where: Callable[[str], str]) -> None:
        self._world, self._where = world, where

    def find(self, key: str) -> UploadNote | None:
        """What was noted of an object."""
        body = self._world.objects.read(self._where(key))
        return UploadNote(*json.loads(body)) if body else None

    def put(self, note: UploadNote) -> None:
        """Note it."""
        self._world.objects.put(self._where(note.key), json.dumps(list(note)).encode())

    def remove(self, key: str) -> None:
        """It is completed, or aborted."""
        self._world.objects.delete([self._where(key)])


@dataclass(frozen=True)
class Copier:
    """Copies objects; `session`: how S3 calls whoever began an upload with our credentials."""

    buckets: Buckets
    notes: UploadNotes
    parts_pool: Executor
    overwrite: Overwrite
    part_bytes: int | None
    session: str
    now: Callable[[], float]
    stopped: Callable[[], bool]
    written: str = ""
    """How objects are kept at the destination, as a text that tells one way from others."""

    def copy(self, task: Task) -> Result:
        """Copy an object, or say why it is left out; raises Stopped, or what may pass."""
        listed = task.source
        try:
            copy, source = self._copied(task)
            found = proof.proof(source.checksums, copy.checksums)
            if found is None:
                raise NotCopied("destination-refused", "the checksum of S3's copy is not the source's")
            return Result(*listed[:4], copy.etag, task.number, found)
        except NotCopied as error:
            return Result(*listed[:4], None, task.number, None, error.reason, error.message)

    def _copied(self, task: Task) -> tuple[Copy, Source]:
        source = self.buckets.look(task.source)
        parts = parts_of(task.source.size, self.part_bytes)
        condition = self._condition(task)
        try:
            copy = self.buckets.copy(source, condition) if parts is None else self._by_parts(source, parts, condition)
        except Taken as error:
            copy = self._settled(source, parts, error)
        return copy, source

    def _condition(self, task: Task) -> Condition:
        """Where not all may be replaced, what was listed is: nobody's later object is."""
        if self.overwrite == "always":
            return Condition()
        return Condition(nothing=True) if task.there is None else Condition(etag=task.there)

    def _settled(self, source: Source, parts: Parts | None, error: Taken) -> Copy:
        """A write that was refused for what is there: that may be what an earlier request of ours has written."""
        there = self.buckets.look_there(source.listed.key)
        if there is not None and _is_copy_of(source, parts, there):
            return there
        # The condition may have been the source's.
        self.buckets.look(source.listed)
        if self.overwrite == "always":
            raise NotCopied("source-changed", "it was replaced while it was copied") from error
        raise NotCopied("destination-conflict", "somebody has written there since it was listed") from error

    def _by_parts(self, source: Source, parts: Parts, condition: Condition) -> Copy:
        key = source.listed.key
        for again in range(_TRIES, 0, -1):
            upload_id, sent = self._upload(source, parts)
            try:
                sent += self._send(source, upload_id, parts, {one.number for one in sent})
                copy = self.buckets.complete(source, upload_id, sorted(sent), condition)
            except UploadGone:
                # Completed by a request whose answer was lost, or aborted by somebody.
                there = self.buckets.look_there(key)
                self.notes.remove(key)
                if there is not None and _is_copy_of(source, parts, there):
                    return self._with_checksums(there, key)
                if again == 1:
                    raise NotCopied("destination-refused", "its upload was aborted again and again") from None
                continue
            except (NotCopied, Taken):
                self.buckets.abort(key, upload_id)
                self.notes.remove(key)
                raise
            self.notes.remove(key)
            return self._with_checksums(copy, key)
        raise AssertionError("the last try returns or raises")

    def _with_checksums(self, copy: Copy, key: str) -> Copy:
        """Completion tells the checksum as a rule; where it has not, a look does."""
        return copy if copy.checksums else (self.buckets.look_there(key) or copy)

    def _upload(self, source: Source, parts: Parts) -> tuple[str, list[Sent]]:
        """The object's upload and what it has already; a new one where there is none that fits."""
        key, note = source.listed.key, self.notes.find(source.listed.key)
        if note is not None:
            wanted = (source.listed.etag, parts.part_bytes, self.written)
            if note.upload_id is not None and (note.etag, note.part_bytes, note.written) == wanted:
                try:
                    return note.upload_id, _fitting(self.buckets.sent(key, note.upload_id), parts)
                except UploadGone:
                    if (there := self.buckets.look_there(key)) and _is_copy_of(source, parts, there):
                        self.notes.remove(key)
                        raise Taken("completed by a request whose answer was lost") from None
            self.forget(note)
        begun = UploadNote(key, source.listed.etag, parts.part_bytes, self.now(), None, self.written)
        self.notes.put(begun)
        try:
            upload_id = self.buckets.begin(source)
        except (NotCopied, Taken):
            self.notes.remove(key)
            raise
        self.notes.put(begun._replace(upload_id=upload_id))
        return upload_id, []

    def forget(self, note: UploadNote) -> None:
        """Abort an upload that is noted, or was begun just before its function was killed."""
        forget(self.buckets, note, self.session)
        self.notes.remove(note.key)

    def _send(self, source: Source, upload_id: str, parts: Parts, have: set[int]) -> list[Sent]:
        """Copy the parts that are missing, some at once."""
        waiting = (part for part in parts if part.number not in have)
        return list(self._in_flight(lambda part: self.buckets.copy_part(source, upload_id, part), waiting))

    def _in_flight(self, send: Callable[[Part], Sent], waiting: Iterator[Part]) -> Iterator[Sent]:
        running = {self.parts_pool.submit(send, part) for part in islice(waiting, _PARTS_AHEAD)}
        try:
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in ended)
                if self.stopped():
                    raise Stopped
                running |= {self.parts_pool.submit(send, part) for part in islice(waiting, len(ended))}
        finally:
            # Nothing is aborted while a part of it is still being copied: S3 would keep that part.
            for one in running:
                one.cancel()
            wait(running)


def forget(buckets: Buckets, note: UploadNote, session: str) -> int:
    """Abort what a note is about; how many uploads."""
    ids = [note.upload_id] if note.upload_id is not None else _strays(buckets, note, session)
    for upload_id in ids:
        buckets.abort(note.key, upload_id)
    return len(ids)


def _strays(buckets: Buckets, note: UploadNote, session: str) -> list[str]:
    """Uploads that a session of ours has begun since the note; anybody else's stay."""
    since = note.begun - _CLOCK_SECONDS
    return [one.upload_id for one in buckets.uploads(note.key) if one.begun >= since and one.by == session]


def _fitting(sent: list[Sent], parts: Parts) -> list[Sent]:
    sizes = {part.number: part.size for part in parts}
    return [one for one in sent if sizes.get(one.number) == one.size]


def _is_copy_of(source: Source, parts: Parts | None, there: Copy) -> bool:
    """Whether what is there is our copy: by checksums; else by an ETag that has the source's, or as many parts."""
    if there.size != source.listed.size:
        return False
    found = proof.proof(source.checksums, there.checksums)
    if found != proof.UNPROVED:
        return found is not None
    if parts is None:
        return there.etag == source.listed.etag
    return there.etag.strip('"').endswith(f"-{parts.count}")
