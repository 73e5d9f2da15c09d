"""What a plot shows, without what draws it: curves in panels."""

from collections.abc import Sequence
from dataclasses import dataclass

BLACK, BLUE, ORANGE, GREEN, YELLOW, SKY, PINK = (
    "black",
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#e69f00",
    "#56b4e9",
    "#cc79a7",
)
COLOURS = (BLUE, ORANGE, GREEN, YELLOW, SKY, PINK, BLACK)
"""In the order in which curves that mean nothing else get them; people who see few colours tell them apart."""


@dataclass(frozen=True)
class Curve:
    """One line, with a gap where y is None: `style` and `colour` are matplotlib's, `width` its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: str = BLACK
    style: str = "-"
    width: float = 1.4


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `names` stand at the whole numbers of y where that axis has no numbers."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    names: Sequence[str] = ()
    x_log: bool = False


@dataclass(frozen=True)
class Plot:
    """One figure: panels beside each other, and below them what was given."""

    number: str
    title: str
    panels: Sequence[Panel]
    caption: str = ""
