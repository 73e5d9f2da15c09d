"""Two buckets in memory, as strict as S3 where copies depend on it; any request can be made to fail."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from lambdas.adapters.copy_ports import Condition, Copy, Sent, Source, Upload
from lambdas.core.copies.listed import Listed, order
from lambdas.core.copies.outcome import NotCopied, Taken, UploadGone
from lambdas.core.copies.parts import Part
from lambdas.core.copies.proof import Algorithm
from lambdas.core.ends.object_writing import ARCHIVES

Answer = Callable[[], object]
SESSIONS = "arn:aws:sts::000000000000:assumed-role/cpt-buckets/"
"""Beginning of the ARNs of sessions that work on buckets."""


@dataclass
class Stored:
    """An object: its bytes are a number of them and a name for their content."""

    content: str
    size: int
    modified: float
    etag: str
    has_checksum: bool = True
    kept: Mapping[str, object] = field(default_factory=dict)
    storage_class: str = "STANDARD"
    restored_at: float | None = None
    """When S3 has restored it, where it was asked to."""

    @property
    def checksums(self) -> dict[Algorithm, str]:
        return {"CRC64NVME": f"crc of {self.content}"} if self.has_checksum else {}


@dataclass
class _Open:
    key: str
    begun: float
    by: str
    parts: dict[int, tuple[Sent, str]] = field(default_factory=dict)


class MemoryBuckets:
    """Buckets; `before` and `after` hold what happens around the n-th request of a kind, counted from 1."""

    def __init__(self, now: Callable[[], float], session: str = f"{SESSIONS}copies-first") -> None:
        self.now, self.session = now, session
        self.here: dict[str, Stored] = {}
        self.placed: dict[str, Stored] = {}
        self.open: dict[str, _Open] = {}
        self.before: dict[tuple[str, int], Answer] = {}
        self.after: dict[tuple[str, int], Answer] = {}
        self.refusals: list[str] = []
        self.count = Counter[str]()
        self._before = Counter[str]()
        self._made = 0
        self._lock = Lock()

    def begun(self, key: str, by: str, sizes: Sequence[int]) -> None:
        """Have an upload that somebody has begun, with parts of these bytes."""
        self._made += 1
        parts = {number: (Sent(number, "p", size), "p") for number, size in enumerate(sizes, 1)}
        self.open[f"upload-{self._made}"] = _Open(key, self.now(), by, parts)

    def put(self, key: str, content: str, size: int = 3, *, has_checksum: bool = True) -> Stored:
        """Write an object of the source."""
        self.here[key] = Stored(content, size, self.now(), f'"{content} {size}"', has_checksum)
        return self.here[key]

    def put_there(self, key: str, content: str, size: int = 3) -> Stored:
        """Write an object of the destination, as somebody else."""
        self.placed[key] = Stored(content, size, self.now(), f'"{content} {size}"')
        return self.placed[key]

    def problems(self, *, writes: bool) -> list[str]:
        return self.refusals

    def source(self, after: str | None) -> Iterator[Listed]:
        return self._listed(self.here, after)

    def there(self, after: str | None) -> Iterator[Listed]:
        return self._listed(self.placed, after)

    def _listed(self, objects: dict[str, Stored], after: str | None) -> Iterator[Listed]:
        with self._asked("list"):
            keys = sorted((key for key in objects if after is None or order(key) > order(after)), key=order)
        for key in keys:
            if key in objects:
                found = objects[key]
                archived = self._is_archived(found)
                yield Listed(key, found.size, found.etag, found.modified, found.storage_class, archived)

    def find(self, key: str) -> Source | None:
        return self._find(self.here, key)

    def find_there(self, key: str) -> Source | None:
        return self._find(self.placed, key)

    def _find(self, objects: dict[str, Stored], key: str) -> Source | None:
        with self._asked("head"):
            found = objects.get(key)
            if found is None:
                return None
            archived = self._is_archived(found)
            listed = Listed(key, found.size, found.etag, found.modified, found.storage_class, archived)
            return Source(listed, None, found.checksums)

    def _is_archived(self, found: Stored) -> bool:
        is_restored = found.restored_at is not None and self.now() >= found.restored_at
        return found.storage_class in ARCHIVES and not is_restored

    def look(self, listed: Listed) -> Source:
        with self._asked("head"):
            found = self._of(listed)
            return Source(listed, None, found.checksums, found.kept)

    def _of(self, listed: Listed) -> Stored:
        found = self.here.get(listed.key)
        if found is None:
            raise NotCopied("source-changed", "it is gone")
        if found.etag != listed.etag:
            raise NotCopied("source-changed", "it was replaced after it was listed")
        return found

    def look_there(self, key: str) -> Copy | None:
        with self._asked("head"):
            found = self.placed.get(key)
            return Copy(found.etag, found.size, found.checksums) if found else None

    def copy(self, source: Source, condition: Condition) -> Copy:
        with self._asked("copy"):
            found = self._taken_for(source)
            if self._is_archived(found):
                raise NotCopied("source-unreadable", "it is archived; restore it first")
            self._judge(source.listed.key, condition)
            return self._place(source, found.content, f'"{found.content} copied"')

    def _taken_for(self, source: Source) -> Stored:
        """CopySourceIfMatch: S3 says 412, whichever condition fails."""
        found = self.here.get(source.listed.key)
        if found is None:
            raise NotCopied("source-changed", "it is gone")
        if found.etag != source.listed.etag:
            raise Taken("PreconditionFailed")
        return found

    def _judge(self, key: str, condition: Condition) -> None:
        there = self.placed.get(key)
        if (condition.nothing and there) or (condition.etag and (there is None or there.etag != condition.etag)):
            raise Taken("PreconditionFailed")

    def _place(self, source: Source, content: str, etag: str) -> Copy:
        made = Stored(content, source.listed.size, self.now(), etag, kept=source.kept)
        self.placed[source.listed.key] = made
        return Copy(made.etag, made.size, made.checksums)

    def begin(self, source: Source) -> str:
        with self._asked("begin"):
            self._made += 1
            upload_id = f"upload-{self._made}"
            self.open[upload_id] = _Open(source.listed.key, self.now(), self.session)
            return upload_id

    def sent(self, key: str, upload_id: str) -> list[Sent]:
        with self._asked("parts"):
            return [sent for sent, _ in self._upload(key, upload_id).parts.values()]

    def _upload(self, key: str, upload_id: str) -> _Open:
        found = self.open.get(upload_id)
        if found is None or found.key != key:
            raise UploadGone("NoSuchUpload")
        return found

    def copy_part(self, source: Source, upload_id: str, part: Part) -> Sent:
        with self._asked("part"):
            found = self._taken_for(source)
            sent = Sent(part.number, f'"{found.content} {part.number}"', part.size)
            self._upload(source.listed.key, upload_id).parts[part.number] = (sent, found.content)
            return sent

    def complete(self, source: Source, upload_id: str, sent: Sequence[Sent], condition: Condition) -> Copy:
        with self._asked("complete"):
            upload = self._upload(source.listed.key, upload_id)
            assert [one.number for one in sent] == list(range(1, len(sent) + 1)), "InvalidPartOrder"
            assert sum(one.size for one in sent) == source.listed.size, "MpuObjectSize"
            if any(upload.parts.get(one.number, (None,))[0] != one for one in sent):
                raise UploadGone("InvalidPart")
            self._judge(source.listed.key, condition)
            contents = {content for _, content in upload.parts.values()}
            del self.open[upload_id]
            return self._place(source, "|".join(sorted(contents)), f'"parts-{len(sent)}"')

    def abort(self, key: str, upload_id: str) -> None:
        with self._asked("abort"):
            self.open.pop(upload_id, None)

    def uploads(self, key: str) -> list[Upload]:
        with self._asked("list"):
            return [Upload(name, one.begun, one.by) for name, one in list(self.open.items()) if one.key == key]

    def opened(self) -> "MemoryBuckets":
        """As another function opens them: its requests are counted from here on."""
        self._before = Counter(self.count)
        return self

    def requests(self) -> Mapping[str, int]:
        return self.count - self._before

    def _asked(self, kind: str) -> "_Around":
        return _Around(self, kind)


class _Around:
    """One request: one at a time, with what is to happen before and after it."""

    def __init__(self, buckets: MemoryBuckets, kind: str) -> None:
        self._buckets, self._kind, self._number = buckets, kind, 0

    def __enter__(self) -> None:
        self._buckets._lock.acquire()
        self._buckets.count[self._kind] += 1
        self._number = self._buckets.count[self._kind]
        try:
            self._buckets.before.get((self._kind, self._number), _nothing)()
        except BaseException:
            self._buckets._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._buckets._lock.release()
        if kind is None:
            # The request was done, and its answer may get lost.
            self._buckets.after.get((self._kind, self._number), _nothing)()


def _nothing() -> object:
    return None
