"""Rounds of restoring: what the state machine holds, and what is kept of them in the control bucket."""

from typing import NamedTuple

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.ends.archived import MOST_WAIT_HOURS, Amount

# A function may run for 900 s: what it does last is well over by then.
ROUND_SECONDS = 600.0
# Objects of a segment, in memory as a whole: lines of some 200 bytes.
SEGMENT_OBJECTS = 5_000
LEAST_WAIT_SECONDS, MOST_WAIT_SECONDS = 60, 1_800
# A wait grows with the time that has passed. From 60 s to 1 800 s that are 70 waits in ten hours, after 20 in the first
# 20 minutes; then 2 an hour, so that 168 hours are some 410 waits of 9 events each in a history of 25 000. With 900 s
# they were 730, and an execution that waits for its directory too, and tries each state as often as it may, had 27 300.
WAIT_SHARE = 0.05


class RestoreRound(Document):
    """What the state machine holds: the number of the last round, whether all are listed, how many are to be restored.

    `done`: nothing is left to wait for; else the next round comes after `wait_seconds`.
    """

    number: Count
    listed: bool
    objects: Count
    done: bool
    wait_seconds: Count


class ArchivedPosition(Document):
    """Where a round of the listing has ended, and what all so far have found.

    `after`: the last key, without the prefix. `segments`: objects of each, by class, in the order of their keys.
    `planned`, `planned_bytes`, `writes`: all that is to be copied, archived or not, where S3 copies it.
    """

    number: Count
    done: bool
    after: str | None = None
    objects: dict[str, Count] = Field(default_factory=dict)
    bytes: dict[str, Count] = Field(default_factory=dict)
    segments: dict[str, list[Count]] = Field(default_factory=dict)
    first: dict[str, str] = Field(default_factory=dict)
    planned: Count = 0
    planned_bytes: Count = 0
    writes: Count = 0

    @property
    def count(self) -> int:
        """Objects of all classes."""
        return sum(self.objects.values())

    @property
    def amounts(self) -> dict[str, Amount]:
        """By class."""
        return {name: Amount(count, self.bytes[name]) for name, count in self.objects.items()}


class Segment(Document):
    """Objects of one class in the order of their keys, and how far they are, counted from the first.

    `asked`: S3 was asked for them. `passed`: they are ready, or left out; `left`: those that are left out.
    """

    name: str
    storage_class: str
    objects: Count
    asked: Count = 0
    passed: Count = 0
    left: Count = 0


class RestoreProgress(Document):
    """All segments; `asked_at`: of the first request, Unix seconds."""

    asked_at: float
    segments: list[Segment]

    @classmethod
    def begin(cls, position: ArchivedPosition, now: float) -> "RestoreProgress":
        """Before the first request."""
        segments = [
            Segment(name=segment_name(kind, at), storage_class=kind, objects=count)
            for kind, counts in sorted(position.segments.items())
            for at, count in enumerate(counts)
        ]
        return cls(asked_at=now, segments=segments)

    @property
    def is_asked(self) -> bool:
        """S3 was asked for all of them."""
        return all(one.asked == one.objects for one in self.segments)

    @property
    def is_over(self) -> bool:
        """Nothing is left to wait for."""
        return all(one.passed == one.objects for one in self.segments)

    def with_segment(self, at: int, **changes: int) -> "RestoreProgress":
        """With one of them changed."""
        changed = self.segments[at].model_copy(update=changes)
        return self.model_copy(update={"segments": [*self.segments[:at], changed, *self.segments[at + 1 :]]})


class ArchivedObject(NamedTuple):
    """A line of a segment: its key without the prefix, bytes, and ETag."""

    key: str
    size: int
    etag: str


def segment_name(storage_class: str, at: int) -> str:
    """Of one segment of a class, counted from 0."""
    return f"{storage_class}-{at:05d}"


def wait_seconds(waited: float, left: float) -> int:
    """How long until the next look; `waited` since the first request, `left` until nobody waits any longer, seconds."""
    usual = min(max(int(waited * WAIT_SHARE), LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)
    return max(min(usual, int(left) + 1), 1)


def most_rounds() -> int:
    """The rounds of the longest wait, each of them answered at once."""
    waited, rounds, most = 0.0, 1, MOST_WAIT_HOURS * 3_600.0
    while waited < most:
        waited, rounds = waited + wait_seconds(waited, most - waited), rounds + 1
    return rounds
