"""Axes: ticks at round values, and where a value lies in the picture."""

from dataclasses import dataclass
from math import ceil, floor, log10

from lambdas.core.words import three_digits

_TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
_SMALL_TIMES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Tick:
    """A round value, `at` pixels from the picture's edge."""

    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """0 to `end` of a quantity lies from `first` to `last`, in pixels."""

    end: float
    first: float
    last: float
    ticks: list[Tick]

    def at(self, value: float) -> float:
        """Pixels; values outside stop at the edge."""
        share = min(max(value / self.end, 0.0), 1.0)
        return round(self.first + share * (self.last - self.first), 1)


def time_axis(seconds: float, first: float, last: float, most: int) -> Axis:
    """Ends where the data ends, `most` ticks; one unit for all of them."""
    end = max(seconds, 0.01)
    step = next(
        (step for step in (*_SMALL_TIMES, *_TIMES) if end / step <= most), _TIMES[-1] * ceil(end / _TIMES[-1] / most)
    )
    unit, name = next(
        ((unit, name) for unit, name in ((86400, "d"), (3600, "h"), (60, "min")) if step % unit == 0), (1, "s")
    )
    axis = Axis(end, first, last, [])
    axis.ticks.extend(
        Tick(axis.at(number * step), f"{number * step / unit:g} {name}" if number else "0")
        for number in range(floor(end / step + 1e-9) + 1)
    )
    return axis


def rate_axis(mb_s: float, first: float, last: float, most: int = 5) -> Axis:
    """Ends at a round value above the data."""
    raw = max(mb_s, 1e-3) / most
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    count = ceil(mb_s / step - 1e-9) or 1
    axis = Axis(count * step, first, last, [])
    axis.ticks.extend(Tick(axis.at(number * step), _plain(number * step)) for number in range(count + 1))
    return axis


def _plain(value: float) -> str:
    return f"{value:g}" if value < 1e6 else three_digits(value)
