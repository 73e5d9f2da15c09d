"""The picture of the map as coordinates: regions on an ellipse, and an arrow for each link, as broad as its rate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin

from lambdas.core.estimate.figures import Origin
from lambdas.core.estimate.link_figures import LinkFigure

# Pixels of the broadest arrow, where there are few regions and where there are many, and of the narrowest.
BROADEST, AMONG_MANY, NARROWEST = 9.0, 3.5, 1.0
_FEW = 4
# How far an arrow bends to its right, as a share of its length: there and back lie apart.
_BEND = 0.14
_HEAD = 9.0
# Arrows begin and end so far from the middle of a region's dot.
_DOT, _CLEAR = 6.0, 4.0
_LINE = 12


@dataclass(frozen=True)
class MapFrame:
    """A picture's size, and the half axes of the ellipse, in pixels."""

    name: str
    width: int
    height: int
    across: int
    down: int


WIDE = MapFrame("wide", 960, 560, 330, 220)
NARROW = MapFrame("narrow", 340, 470, 78, 205)
FRAMES = (WIDE, NARROW)


@dataclass(frozen=True)
class Place:
    """A region's dot, and its name beside it."""

    region: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True)
class Arrow:
    """One link: its curve, its head, its breadth, and what is said of it where the pointer rests on it."""

    figure: LinkFigure
    curve: str
    head: str
    breadth: float

    @property
    def origin(self) -> Origin:
        """By which it is coloured."""
        return self.figure.origin


@dataclass(frozen=True)
class MapPicture:
    """One type of relay."""

    frame: MapFrame
    places: list[Place]
    arrows: list[Arrow]
    dot: float = _DOT


def map_picture(links: Iterable[LinkFigure], regions: Sequence[str], frame: MapFrame) -> MapPicture:
    """Regions clockwise from the top; the broadest arrows are drawn first, so that they hide no other."""
    places = {region: _place(region, number / len(regions), frame) for number, region in enumerate(regions)}
    known = sorted(links, key=lambda one: -one.counted)
    most = max((one.counted for one in known), default=0.0)
    broadest = max(AMONG_MANY, BROADEST - max(len(regions) - _FEW, 0))
    shares = [one.counted / most if most else 0.0 for one in known]
    arrows = [
        _arrow(one, places[one.from_region], places[one.to_region], max(NARROWEST, broadest * share))
        for one, share in zip(known, shares, strict=True)
    ]
    return MapPicture(frame, list(places.values()), arrows)


def _place(region: str, turn: float, frame: MapFrame) -> Place:
    angle = 2 * pi * turn - pi / 2
    right, below = cos(angle), sin(angle)
    x, y = frame.width / 2 + frame.across * right, frame.height / 2 + frame.down * below
    if abs(right) < 0.2:  # above or below its dot
        return Place(region, _round(x), _round(y), _round(x), _round(y + (24 if below > 0 else -14)), "middle")
    side = 1 if right > 0 else -1
    return Place(region, _round(x), _round(y), _round(x + side * _LINE), _round(y + 4), "start" if side > 0 else "end")


def _arrow(one: LinkFigure, start: Place, end: Place, breadth: float) -> Arrow:
    across, down = end.x - start.x, end.y - start.y
    length = hypot(across, down) or 1.0
    # Right of the straight line, in its own direction.
    bent_x = (start.x + end.x) / 2 - _BEND * down
    bent_y = (start.y + end.y) / 2 + _BEND * across
    first_x, first_y = _towards(start.x, start.y, bent_x, bent_y, min(_DOT + _CLEAR, length / 4))
    tip_x, tip_y = _towards(end.x, end.y, bent_x, bent_y, min(_DOT + _CLEAR, length / 4))
    head = _HEAD + breadth / 2
    base_x, base_y = _towards(tip_x, tip_y, bent_x, bent_y, min(head, length / 4))
    half_x, half_y = (base_y - tip_y) * 0.5, (tip_x - base_x) * 0.5
    curve = f"M{first_x:.1f},{first_y:.1f}Q{bent_x:.1f},{bent_y:.1f} {base_x:.1f},{base_y:.1f}"
    corners = ((tip_x, tip_y), (base_x + half_x, base_y + half_y), (base_x - half_x, base_y - half_y))
    return Arrow(one, curve, "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in corners) + "Z", round(breadth, 2))


def _towards(x: float, y: float, to_x: float, to_y: float, distance: float) -> tuple[float, float]:
    """The point so far from the first one on the way to the other."""
    length = hypot(to_x - x, to_y - y) or 1.0
    return x + (to_x - x) * distance / length, y + (to_y - y) * distance / length


def _round(value: float) -> float:
    return round(value, 1)
