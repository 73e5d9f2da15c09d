"""The two pictures over time, as coordinates: rates stacked by path, and the chunks of each lane."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from lambdas.core.report.page.axes import Axis, rate_axis, time_axis
from lambdas.core.report.page.events import PageEvent
from lambdas.core.report.timeline import Course, LaneBars

# Colours and textures that can be told apart; further paths share the last.
SHADES = 8
_EDGE = 1.0
_MARK_WIDTH = 18.0


@dataclass(frozen=True)
class Frame:
    """A picture's size and where its data lies, in pixels."""

    name: str
    width: int
    left: int
    right: int
    ticks: int

    @property
    def last(self) -> int:
        """Right edge of the data."""
        return self.width - self.right


WIDE = Frame("wide", 960, 64, 12, 10)
NARROW = Frame("narrow", 340, 50, 10, 4)
FRAMES = (WIDE, NARROW)


@dataclass(frozen=True)
class Area:
    """One path's share of the rate: an outline, and the number of its colour and texture."""

    shade: int
    outline: str


@dataclass(frozen=True)
class Mark:
    """Where something happened: its number in the list below, and the row of its label."""

    number: int
    kind: str
    x: float
    row: int


@dataclass(frozen=True)
class RatePicture:
    """MB/s over time."""

    frame: Frame
    top: int
    bottom: int
    height: int
    x: Axis
    y: Axis
    areas: list[Area]
    marks: list[Mark]


@dataclass(frozen=True)
class Row:
    """One lane; `label` at the first lane of a path; outlines of its bars, and of those that were sent again."""

    y: float
    shade: int
    label: str
    bars: str
    retried: str


@dataclass(frozen=True)
class LanePicture:
    """Chunks over time, a row a lane."""

    frame: Frame
    top: int
    bottom: int
    height: int
    row_height: float
    x: Axis
    rows: list[Row]
    borders: list[float]


def shades(course: Course) -> dict[str, int]:
    """The number of each path's colour: 0 for the first."""
    return {path.path_id: min(place, SHADES - 1) for place, path in enumerate(course.paths)}


def seconds(course: Course) -> float:
    """The end of both pictures."""
    intervals = max((len(path.rates) for path in course.paths), default=0)
    return course.seconds or course.rates_from + intervals * course.interval_seconds


def rate_picture(course: Course, events: Sequence[PageEvent], frame: Frame) -> RatePicture:
    """Rates stacked in the order of the paths, the first at the bottom."""
    x = time_axis(seconds(course), frame.left, frame.last, frame.ticks)
    marks = _marks(events, x)
    top = 12 + 20 * (max((mark.row for mark in marks), default=-1) + 1)
    bottom = top + (260 if frame is WIDE else 200)
    totals = [sum(rates) for rates in zip(*(path.rates for path in course.paths), strict=True)]
    y = rate_axis(max(totals, default=0.0), bottom, top)
    return RatePicture(frame, top, bottom, bottom + 26, x, y, _areas(course, x, y), marks)


def _areas(course: Course, x: Axis, y: Axis) -> list[Area]:
    """From the bottom; paths that share the last colour are one."""
    shade = shades(course)
    count = len(course.paths[0].rates) if course.paths else 0
    edges = [x.at(course.rates_from + number * course.interval_seconds) for number in range(count + 1)]
    floor = [0.0] * count
    areas = []
    for number, group in groupby(course.paths, lambda path: shade[path.path_id]):
        ceiling = [sum(rates) for rates in zip(floor, *(path.rates for path in group), strict=True)]
        areas.append(Area(number, _outline(edges, floor, ceiling, y)))
        floor = ceiling
    return areas


def _outline(edges: list[float], floor: list[float], ceiling: list[float], y: Axis) -> str:
    """Steps along the top, and back along the bottom; nothing where there is nothing between them."""
    parts = []
    steps = list(zip(pairwise(edges), map(y.at, floor), map(y.at, ceiling), strict=True))
    for filled, run in groupby(steps, lambda step: step[1] > step[2]):
        if filled:
            part = list(run)
            over = [f"{left:g},{high:g} {right:g},{high:g}" for (left, right), _, high in part]
            back = [f"{right:g},{low:g} {left:g},{low:g}" for (left, right), low, _ in reversed(part)]
            parts.append(f"M{' L'.join([*over, *back])}Z")
    return "".join(parts)


def _marks(events: Sequence[PageEvent], x: Axis) -> list[Mark]:
    """Labels that would cover each other go into further rows."""
    ends: list[float] = []
    marks = []
    for number, event in enumerate(events, 1):
        at = x.at(event.second)
        row = next((row for row, end in enumerate(ends) if at - end >= _MARK_WIDTH), len(ends))
        ends[row : row + 1] = [at]
        marks.append(Mark(number, event.kind, at, row))
    return marks


def lane_picture(course: Course, frame: Frame) -> LanePicture:
    """Rows in the order of the paths, a little space between paths."""
    shade = shades(course)
    x = time_axis(seconds(course), frame.left, frame.last, frame.ticks)
    row_height = 12.0 if len(course.lanes) <= 24 else 8.0 if len(course.lanes) <= 48 else 5.0
    y, rows, borders = 6.0, list[Row](), list[float]()
    for before, lane in zip([None, *course.lanes], course.lanes, strict=False):
        first = before is None or before.path_id != lane.path_id
        if first and before is not None:
            borders.append(y + 2)
            y += 5 + max(12 - row_height * _lanes_of(course, before.path_id), 0)
        label = lane.path_id if first else ""
        bars, retried = _outlines(lane, x, y, row_height)
        rows.append(Row(y, shade.get(lane.path_id, SHADES - 1), label, bars, retried))
        y += row_height + 1
    bottom = round(y + 4)
    return LanePicture(frame, 6, bottom, bottom + 26, row_height, x, rows, borders)


def _lanes_of(course: Course, path_id: str) -> int:
    return sum(lane.path_id == path_id for lane in course.lanes)


def _outlines(lane: LaneBars, x: Axis, y: float, height: float) -> tuple[str, str]:
    """Rectangles, and over those that were sent again an outline with a cross."""
    bars, retried = [], []
    for bar in lane.bars:
        start = x.at(bar.start)
        # A gap of a pixel tells neighbours apart, where there is room for it.
        width = max(round(x.at(bar.end) - start - _EDGE, 1), _EDGE)
        box = f"M{start:g},{y:g}h{width:g}v{height:g}h-{width:g}z"
        bars.append(box)
        if bar.retries:
            arm = min(width, height) / 2 - 1
            center, middle = start + width / 2, y + height / 2
            cross = f"M{center - arm:.1f},{middle - arm:.1f}l{2 * arm:.1f},{2 * arm:.1f}"
            cross += f"M{center - arm:.1f},{middle + arm:.1f}l{2 * arm:.1f},{-2 * arm:.1f}"
            retried.append(box + (cross if arm > 1 else ""))
    return "".join(bars), "".join(retried)
