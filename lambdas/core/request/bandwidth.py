"""The bound on a sender's rate, Mbit/s: what a request said, and what people and its timetable have set since."""

from datetime import datetime, time, timedelta
from itertools import dropwhile
from math import inf
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Discriminator, Field, Tag

from lambdas.core.documents import Document, Integer, TransferId

MBIT_PER_MB = 8
# Whoever changes it more often sees the last ones: the record that they stand in is read by everybody.
MAX_CHANGES = 100

# More than any instance has; what is larger was meant in another unit.
MOST_MBPS = 1_000_000
Mbps = Annotated[Integer, Field(ge=1, le=MOST_MBPS)]
# So many spans an estimate counts with: three weeks of two limits a day. They stand in the transfer's record.
MOST_SPANS = 50
SetBy = Literal["person", "timetable"]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEK: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
TIME_ZONE = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"


class Entry(Document):
    """From this time of day on, on these days, `mbps` holds until another entry begins."""

    start: str = Field(alias="from", pattern=TIME_OF_DAY)
    days: list[Day] = Field(default_factory=lambda: list(WEEK), min_length=1, max_length=7)
    mbps: Mbps | Literal["none"]

    @property
    def limit(self) -> int | None:
        """Mbit/s; None: no limit."""
        return None if self.mbps == "none" else self.mbps


class Timetable(Document):
    """A limit for every moment of the week, by the clocks of `time_zone` (an IANA name)."""

    timetable: list[Entry] = Field(min_length=1, max_length=100)
    time_zone: str = Field(default="UTC", pattern=TIME_ZONE, max_length=64)

    @property
    def problems(self) -> list[str]:
        """What a schema cannot say, a line each."""
        found = []
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, ValueError, OSError):
            found.append(f"timeZone: '{self.time_zone}' is not known; write an IANA name, e.g. UTC or Europe/Berlin")
        begins: dict[tuple[Day, str], int] = {}
        for at, entry in enumerate(self.timetable):
            twice = next((day for day in entry.days if begins.setdefault((day, entry.start), at) != at), None)
            if len(set(entry.days)) < len(entry.days):
                found.append(f"timetable[{at}].days: {', '.join(entry.days)}; name each day once")
            elif twice:
                other = f"timetable[{begins[twice, entry.start]}]"
                found.append(f"timetable[{at}].from: {other} begins on {twice} at {entry.start} as well; leave one out")
        return found


def _form(value: object) -> str:
    return "Timetable" if isinstance(value, (dict, Timetable)) else "Mbps"


LimitWish = Annotated[
    Annotated[Mbps, Tag("Mbps")] | Annotated[Timetable, Tag("Timetable")],
    Discriminator(_form),
]


def limit_at(wish: int | Timetable | None, at: float) -> int | None:
    """The limit, Mbit/s, that was asked for `at` (Unix seconds); None: none."""
    if not isinstance(wish, Timetable):
        return wish
    return next(limit for start, limit in reversed(_begun(wish, at)) if start <= at)


def next_change(wish: int | Timetable | None, at: float) -> tuple[float, int | None] | None:
    """When (Unix seconds) after `at` another limit holds, and which; None where that never is."""
    if not isinstance(wish, Timetable):
        return None
    now = limit_at(wish, at)
    return next(dropwhile(lambda one: one[0] <= at or one[1] == now, _begun(wish, at)), None)


def spans(timetable: Timetable, at: float) -> list[tuple[float, float, int | None]]:
    """From, until (seconds after `at`) and limit, one after the other: the last one goes on for ever."""
    starts = [
        (0.0, limit_at(timetable, at)),
        *((start - at, mbps) for start, mbps in _begun(timetable, at) if start > at),
    ]
    ends = [start for start, _ in starts[1:MOST_SPANS]]
    return [(start, end, mbps) for (start, mbps), end in zip(starts, [*ends, inf], strict=False)]


def _begun(timetable: Timetable, at: float) -> list[tuple[float, int | None]]:
    """Unix seconds at which entries begin, in order, from eight days before `at` to eight days after it.

    A time that clocks show twice counts when it comes first. One that they skip comes as much later, as in calendars
    (RFC 5545, 3.3.5), but not after the entry that follows it.
    """
    zone = ZoneInfo(timetable.time_zone)
    today = datetime.fromtimestamp(at, zone).date()
    found: list[tuple[float, int | None]] = []
    entries = sorted(timetable.timetable, key=lambda entry: entry.start, reverse=True)
    for day in (today + timedelta(days=days) for days in range(8, -9, -1)):
        for entry in entries:
            if WEEK[day.weekday()] in entry.days:
                start = datetime.combine(day, time.fromisoformat(entry.start), zone).timestamp()
                found.append((min(start, found[-1][0]) if found else start, entry.limit))
    return found[::-1]


def rate_or_none(mbps: int | None) -> str:
    """`400 Mbit/s (50 MB/s)`, or `no limit`."""
    return "no limit" if mbps is None else f"{mbps:,} Mbit/s ({mbps / MBIT_PER_MB:,.4g} MB/s)"


def limit_in_words(mbps: int | None, by: SetBy) -> str:
    """`400 Mbit/s (50 MB/s)`, or `lifted by the timetable`."""
    words = "lifted" if mbps is None else rate_or_none(mbps)
    return words if by == "person" else f"{words} by the timetable"


class LimitRequest(Document):
    """Contract `limit-request`; None removes the limit, `timetable` goes back to the request's."""

    transfer_id: TransferId
    bandwidth_limit_mbps: Mbps | Literal["timetable"] | None


class LimitChange(Document):
    """Another limit was set `at` (Unix seconds); None: it was lifted."""

    at: Annotated[float, Field(ge=0)]
    mbps: Mbps | None = None
    by: SetBy = "person"


class BandwidthLimit(Document):
    """The limit that holds now, the lowest that ever held, and the last changes; None: no limit."""

    version: Annotated[Integer, Field(ge=0)] = 0
    mbps: Mbps | None = None
    lowest_mbps: Mbps | None = None
    changes: list[LimitChange] = Field(default_factory=list)

    @property
    def is_a_persons(self) -> bool:
        """Whether it holds whatever a timetable says."""
        return bool(self.changes) and self.changes[-1].by == "person"

    def set_to(self, mbps: int | None) -> "BandwidthLimit":
        """The limit of the request: it holds from the beginning."""
        known = [limit for limit in (self.lowest_mbps, mbps) if limit is not None]
        return self.model_copy(update={"mbps": mbps, "lowest_mbps": min(known, default=None)})

    def changed_to(self, mbps: int | None, at: float, by: SetBy = "person") -> "BandwidthLimit":
        """`mbps` from `at` on: the next version."""
        changes = [*self.changes, LimitChange(at=at, mbps=mbps, by=by)][-MAX_CHANGES:]
        return self.set_to(mbps).model_copy(update={"version": self.version + 1, "changes": changes})

    def highest(self, wish: int | Timetable | None, at: float, seconds: float) -> int | None:
        """The highest limit that may hold from `at` on for so long, unless people set another; None: none at all."""
        limits, until = [self.mbps], at + seconds
        while not self.is_a_persons and (change := next_change(wish, at)) and change[0] <= until:
            limits.append(change[1])
            at = change[0]
        known = [limit for limit in limits if limit is not None]
        return max(known) if len(known) == len(limits) else None

    def followed(self, wish: int | Timetable | None, at: float) -> "BandwidthLimit | None":
        """As the timetable has it `at`; None where that is so, or a person's limit holds."""
        mbps = limit_at(wish, at)
        return None if self.is_a_persons or mbps == self.mbps else self.changed_to(mbps, at, "timetable")
