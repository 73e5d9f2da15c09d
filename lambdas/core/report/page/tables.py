"""The rows of the page's tables and bars, from the report."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import leads_through
from lambdas.core.report.fleet_report import Start, start_of
from lambdas.core.report.page.pictures import shades
from lambdas.core.report.report import Report
from lambdas.core.report.timeline import Course
from lambdas.core.words import dollars, duration, rate


@dataclass(frozen=True)
class Bar:
    """A labelled bar; `share` of the longest, 0 to 100."""

    label: str
    text: str
    share: float
    kind: str


@dataclass(frozen=True)
class Comparison:
    """What was measured beside what was estimated, and the difference in words."""

    title: str
    value: str
    verdict: str
    bars: list[Bar]


@dataclass(frozen=True)
class PathRow:
    """What a path carried: bytes, MB/s while it carried anything, seconds since the course's zero."""

    path_id: str
    shade: int
    bytes: float
    share: float
    rate: float
    first: float
    last: float
    lanes: int
    retries: int


@dataclass(frozen=True)
class RelayRow:
    """A relay: the parts of T_v and `serving`, all of it, in s; `observed` MB/s of its paths while it was joined."""

    node: Node
    start: Start
    serving: float | None
    observed: float | None
    end: str


def comparisons(report: Report) -> list[Comparison]:
    """Time, rate and cost; a transfer that failed is not held against the time of a whole one."""
    seconds, cost = report.seconds, report.cost
    planned, direct = (seconds.estimate, seconds.direct_estimate) if report.estimate else (0.0, 0.0)
    direct = direct if report.pairs else 0.0
    found = []
    if report.bytes:
        times = [seconds.transfer, planned, direct] if report.status != "FAILED" else [seconds.transfer]
        found.append(_comparison("Time of data", times, duration, "longer", "shorter"))
        planned_bytes = (report.estimate or {}).get("bytes", 0)
        rates = [report.rate, *(planned_bytes / 1e6 / one if one else 0.0 for one in (planned, direct))]
        found.append(_comparison("Rate", rates, rate, "faster", "slower"))
    if cost.total or cost.estimate:
        found.append(_comparison("Cost", [cost.total, cost.estimate], dollars, "more", "less"))
    return found


_KINDS = (("measured", "measured"), ("estimated", "estimated"), ("direct path alone, estimated", "direct"))


def _comparison(title: str, values: list[float], words: Callable[[float], str], above: str, below: str) -> Comparison:
    """Of what was measured, estimated, and estimated for the direct path alone; 0 where there is none."""
    most = max(values) or 1.0
    bars = [
        Bar(label, words(value), round(100 * value / most, 2), kind)
        for (label, kind), value in zip(_KINDS, values, strict=False)
        if value > 0
    ]
    return Comparison(title, words(values[0]), _verdict(*values[:2], above=above, below=below), bars)


def _verdict(measured: float, estimated: float = 0.0, *, above: str, below: str) -> str:
    if estimated <= 0 or measured <= 0:
        return ""
    percent = round(100 * (measured / estimated - 1))
    if percent == 0:
        return "as estimated"
    return f"{abs(percent):,} % {above if percent > 0 else below} than estimated"


def money(report: Report) -> list[Bar]:
    """What the money went to; shares of all that was spent."""
    cost = report.cost
    parts = [
        ("relays", cost.relays),
        ("data out of the region", cost.egress),
        ("data between zones", cost.cross_zone),
        ("control plane", cost.control_plane),
        *([("requests to the bucket", cost.requests)] if cost.requests is not None else []),
        *([("file systems, at most", cost.file_systems)] if cost.file_systems is not None else []),
        *([("pool", cost.pool)] if cost.pool is not None else []),
    ]
    return [
        Bar(name, dollars(usd), round(100 * usd / cost.total, 2) if cost.total else 0.0, f"money-{place}")
        for place, (name, usd) in enumerate(parts)
    ]


def stages(report: Report) -> list[Bar]:
    """Wall time of each state."""
    most = max((stage.seconds for stage in report.stages), default=0.0) or 1.0
    return [
        Bar(stage.stage, duration(stage.seconds), round(100 * stage.seconds / most, 2), "stage")
        for stage in report.stages
    ]


def row_bars(estimate: Estimate) -> list[float]:
    """Each row's time as a share of the longest, 0 to 100."""
    most = max(row.seconds for row in estimate.rows) or 1.0
    return [round(100 * row.seconds / most, 2) for row in estimate.rows]


def paths(course: Course) -> list[PathRow]:
    """In the order of the picture, from the bottom."""
    shade, width = shades(course), course.interval_seconds
    total = sum(sum(path.rates) for path in course.paths) or 1.0
    rows = []
    for path in course.paths:
        busy = [number for number, rate_ in enumerate(path.rates) if rate_ > 0]
        lanes = [lane for lane in course.lanes if lane.path_id == path.path_id]
        bars = [bar for lane in lanes for bar in lane.bars]
        first = min((bar.start for bar in bars), default=busy[0] * width if busy else 0.0)
        last = max((bar.end for bar in bars), default=(busy[-1] + 1) * width if busy else 0.0)
        carried = sum(path.rates) * width
        rows.append(
            PathRow(
                path_id=path.path_id,
                shade=shade[path.path_id],
                bytes=carried * 1e6,
                share=100 * sum(path.rates) / total,
                rate=carried / (last - first) if last > first else 0.0,
                first=first,
                last=last,
                lanes=len(lanes),
                retries=sum(bar.retries for bar in bars),
            )
        )
    return rows


def relays(nodes: list[Node], course: Course | None) -> list[RelayRow]:
    """By stage, slot and generation."""
    ordered = sorted(nodes, key=lambda node: (node.stage, node.slot, node.generation))
    return [RelayRow(node, start_of(node), _serving(node), _observed(node, course), _end(node)) for node in ordered]


def _serving(node: Node) -> float | None:
    return None if node.ready_at is None else max(node.ready_at - node.requested_at, 0.0)


def _observed(node: Node, course: Course | None) -> float | None:
    """Over the whole intervals in which it had joined; None where there are none."""
    if course is None or node.joined_at is None:
        return None
    mine = [path.rates for path in course.paths if leads_through(path.path_id, node)]
    began = course.zero_at + course.rates_from
    until = min(node.ended_at or inf, course.zero_at + course.seconds)
    first = ceil((node.joined_at - began) / course.interval_seconds)
    last = floor((until - began) / course.interval_seconds)
    spans = [sum(values) for values in zip(*(rates[max(first, 0) : max(last, 0)] for rates in mine), strict=True)]
    return sum(spans) / len(spans) if spans else None


_ENDS = {
    "SPAWNED": "still starting",
    "READY": "ready, never joined",
    "JOINED": "still joined",
    "DRAINING": "draining",
    "REJECTED": "released after the pre-test",
    "LOST": "lost",
    "TERMINATED": "taken down at the end",
}


def _end(node: Node) -> str:
    words = _ENDS.get(node.state, node.state.lower())
    told = f"{words}: {node.reason}" if node.reason else words
    if node.successor:
        return f"{told}; replaced by {node.successor}"
    return f"{told}; not replaced: {node.not_replaced}" if node.not_replaced else told
