"""Objects that have come into a bucket, and the windows in which they are collected for one transfer.

An arrival waits until a window's list has it. A start has one window at a time:

    IDLE → OPEN → CLOSING → LISTED → SETTLED → IDLE, or OPEN again

Each arrow is one conditional write of the window's item over the version before, and each step between two arrows may
be done twice. Who writes an arrival looks at the window afterwards: while it is OPEN its list is still to be made, and
will have the arrival; later it may lack it, so another window is asked for.
"""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from lambdas.core.documents import Count, Document, Handover
from lambdas.core.ends.key_list import KeyEntry

# 10⁵ keys are collected, listed and taken within a run of the function (docs/design/066).
MOST_LISTED = 100_000
# The reconciler looks each minute: what is wrong for ten minutes is for a person.
MOST_ATTEMPTS = 10
# Scheduler invokes within the minute that follows; what is later than this nobody has told.
OVERDUE_SECONDS = 90.0
# AWS refuses a schedule of the past; so near, the window's end is told by an event.
SOON_SECONDS = 5.0
_KEPT = ".cpt-"
_SHARDS = 16
_HASH_LENGTH = 32
_DIGEST_LENGTH = 16

START_NAME = r"^[a-z][a-z0-9-]{0,29}$"
# Before the name of one that people have added: the settings may have one of the same name.
ADDED = "added_"
WINDOW_NAME = rf"^({ADDED})?[a-z][a-z0-9-]{{0,29}}$"
StartName = Annotated[str, Field(pattern=WINDOW_NAME)]
WindowSeconds = Annotated[int, Field(ge=10, le=3_600)]
WindowState = Literal["IDLE", "OPEN", "CLOSING", "LISTED", "SETTLED"]


def order_of(sequencer: str) -> str:
    """The text by which writes of one key compare: S3 compares as if the shorter one had zeros at its end."""
    return sequencer.upper().rstrip("0") or "0"


class CollectedStart(Handover):
    """An entry of `starts.objects` as its rule hands it over, or one that was added.

    `request` is a template whose source is the bucket.
    """

    name: StartName
    window_seconds: WindowSeconds
    request: dict[str, Any]

    @property
    def template(self) -> str:
        """The request as a window keeps it: text, of which a table changes nothing."""
        return json.dumps(self.request, sort_keys=True)


class Arrival(Document):
    """One write of one key; `sequencer` as `order_of` has it."""

    key: str
    sequencer: str
    version_id: str | None = None
    size: Count | None = None
    etag: str | None = None

    @property
    def hash(self) -> str:
        """Stands for the key, which may be longer than a table's sort key."""
        return sha256(self.key.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]

    @property
    def shard(self) -> int:
        """Which of the table's partitions it waits in: one alone takes 500 arrivals a second."""
        return int(self.hash[0], 16) % _SHARDS

    @property
    def is_ours(self) -> bool:
        """Whether a transfer has written it for itself, as notes of a receiver beside its data."""
        return any(part.startswith(_KEPT) for part in self.key.split("/"))

    @property
    def entry(self) -> KeyEntry:
        """Its line of the list."""
        return KeyEntry(**self.model_dump())


def shards() -> range:
    """All of `Arrival.shard`."""
    return range(_SHARDS)


def newest(arrivals: list[Arrival]) -> list[Arrival]:
    """Of each key the write that S3 says came last: an older one is there no more, or another version."""
    found: dict[str, Arrival] = {}
    for arrival in arrivals:
        known = found.get(arrival.key)
        if known is None or known.sequencer < arrival.sequencer:
            found[arrival.key] = arrival
    return list(found.values())


class Window(Document):
    """The window of one start: what has become of it, and the template with which it was opened."""

    start: StartName
    version: Count
    number: Count
    state: WindowState
    window_seconds: WindowSeconds
    template: str
    due_at: float
    touched_at: float
    scheduled: bool = False
    again: bool = False
    """Something has come that its list may lack."""
    full: bool = False
    """More has waited than its list has: the next window ends at once."""
    list_key: str | None = None
    keys: Count = 0
    execution: str | None = None
    attempts: Count = 0

    @classmethod
    def opened(cls, start: CollectedStart, before: Self | None, now: float) -> Self:
        """The first of a start, or the one after `before`."""
        return cls(
            start=start.name,
            version=before.version + 1 if before else 1,
            number=before.number + 1 if before else 1,
            state="OPEN",
            window_seconds=start.window_seconds,
            template=start.template,
            due_at=now + start.window_seconds,
            touched_at=now,
        )

    def changed(self, now: float, **values: Any) -> Self:
        """The next version of it."""
        return self.model_copy(update={"version": self.version + 1, "touched_at": now, **values})

    def listed(self, list_key: str, keys: int, now: float, *, full: bool) -> Self:
        """Its list is fixed, and by that the name of its execution."""
        digest = list_key.partition("/")[2][:_DIGEST_LENGTH]
        execution = f"{self.start}-{self.number}-{digest}"
        return self.changed(now, state="LISTED", list_key=list_key, keys=keys, execution=execution, full=full)

    def finished(self, now: float) -> Self:
        """All that its list has is taken: it rests, or the next one opens for what came meanwhile."""
        if not (self.again or self.full):
            return self.changed(now, state="IDLE")
        start = CollectedStart(name=self.start, window_seconds=self.window_seconds, request=json.loads(self.template))
        following = type(self).opened(start, self, now)
        return following.model_copy(update={"due_at": now}) if self.full else following

    @property
    def was_added(self) -> bool:
        """Whether people have added its start, and may have removed it since."""
        return self.start.startswith(ADDED)

    @property
    def schedule(self) -> str:
        """Name of the schedule that ends it."""
        return f"{self.start}-{self.number}"

    @property
    def origin(self) -> str:
        """For people and programs that look for where a request came from."""
        return f"objects/{self.start}/{self.number}"

    @property
    def filled(self) -> dict[str, Any]:
        """The request of its execution; transfers of one start have one destination, so they wait for each other."""
        request = json.loads(self.template)
        source = {**request["source"], "keys": {"manifest": self.list_key}}
        return {"whenBusy": "wait", **request, "source": source}

    def is_overdue(self, now: float) -> bool:
        """Whether whoever was to go on with it has not: nobody was told, or it ended in the middle."""
        if self.state == "OPEN":
            return now > self.due_at + OVERDUE_SECONDS
        return self.state != "IDLE" and now > self.touched_at + OVERDUE_SECONDS / 3
