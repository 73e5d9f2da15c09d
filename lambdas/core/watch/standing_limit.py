"""The limit that stands beside a rate: who set it, and what its timetable changes it to next."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from lambdas.core.documents import Document
from lambdas.core.request.bandwidth import MBIT_PER_MB, BandwidthLimit, Mbps, SetBy, Timetable, next_change


class LimitByTimetable(Document):
    """Who set the limit that holds where the request has a timetable; `until` (Unix seconds) another one does.

    Without `until` that is never; without `then_mbps` it will be none.
    """

    set_by: SetBy
    until: float | None = None
    then_mbps: Mbps | None = None
    time_zone: str

    def words(self) -> str:
        """`by its timetable until Tue 18:00 Europe/Berlin, then none`, or `by hand`."""
        if self.set_by == "person":
            return "by hand"
        if self.until is None:
            return "by its timetable"
        clock = datetime.fromtimestamp(self.until, ZoneInfo(self.time_zone))
        return f"by its timetable until {clock:%a %H:%M} {self.time_zone}, then {_rate(self.then_mbps)}"


def by_timetable(request: Mapping[str, Any], limit: BandwidthLimit, at: float) -> LimitByTimetable | None:
    """Return what stands `at` (Unix seconds); None where the request has no timetable."""
    wish = request.get("bandwidthLimitMbps")
    if not isinstance(wish, dict):
        return None
    timetable = Timetable.from_document(wish)
    if limit.is_a_persons:
        return LimitByTimetable(set_by="person", time_zone=timetable.time_zone)
    until, then = next_change(timetable, at) or (None, None)
    return LimitByTimetable(set_by="timetable", until=until, then_mbps=then, time_zone=timetable.time_zone)


def limit_words(mbps: int | None, timetable: LimitByTimetable | None = None) -> str:
    """Beside a rate: why it is not higher, and for how long."""
    if timetable is None:
        return "" if mbps is None else f" (limit {_rate(mbps)})"
    return f" ({'no limit' if mbps is None else f'limit {_rate(mbps)}'} {timetable.words()})"


def _rate(mbps: int | None) -> str:
    return "none" if mbps is None else f"{mbps / MBIT_PER_MB:,.4g} MB/s"
