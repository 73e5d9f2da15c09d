"""Sizes, ranges and times as people write them; an error names the option, the value and what would be right."""

from datetime import UTC, datetime
from math import isfinite
from re import fullmatch

from lambdas.core.request import quantities
from lambdas.core.request.bandwidth import MOST_MBPS
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS


class OptionError(Exception):
    """An option that cannot be used."""

    def __init__(self, option: str, value: object, remedy: str) -> None:
        super().__init__(f"{option} {value}: {remedy}")


def size_bytes(text: str) -> int:
    """`8GB`, `1.5 TiB`, `300000`: bytes, at least 1."""
    remedy = "write a size above 0 with its unit, e.g. 8GB, 500MB, 1.5TiB (B, kB, MB, GB, TB, PB, KiB, MiB, GiB, …)"
    try:
        size = int(text) if text.isdecimal() else quantities.size_bytes(text)
    except ValueError:
        raise OptionError("--size", text, remedy) from None
    if size < 1:
        raise OptionError("--size", text, remedy)
    return size


def pair_range(text: str) -> range:
    """`0..8` or `3`."""
    remedy = f"write a number of pairs or a range, 0 to {MAX_REQUEST_PAIRS}, the smaller first, e.g. 0..8"
    first, dots, last = text.partition("..")
    if not first.isdecimal() or not (last.isdecimal() if dots else True):
        raise OptionError("--pairs", text, remedy)
    low, high = int(first), int(last or first)
    if low > high or high > MAX_REQUEST_PAIRS:
        raise OptionError("--pairs", text, remedy)
    return range(low, high + 1)


def limit_mbps(text: str) -> int | str | None:
    """`400` Mbit/s, `none`, or `timetable`, which stays a word."""
    if text in ("none", "timetable"):
        return None if text == "none" else text
    if not text.isdecimal() or not 1 <= int(text) <= MOST_MBPS:
        raise OptionError(
            "--mbps", text, f"write Mbit/s as a whole number from 1 to {MOST_MBPS}, or none, or timetable"
        )
    return int(text)


def deadline_seconds(text: str, now: datetime) -> int:
    """Seconds from the start (`3600`, `2h`), or the time with its zone (`2026-11-22T06:00Z`), later than `now`."""
    remedy = "write whole seconds above 0, e.g. 3600, or a time to come with its zone, e.g. 2026-11-22T06:00Z"
    if text.isdecimal() and int(text) > 0:
        return int(text)
    if fullmatch(quantities.SPAN, text):
        return quantities.span_seconds(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError("--deadline", text, remedy) from None
    if moment.tzinfo is None:
        raise OptionError("--deadline", text, f"its zone is missing; {remedy}")
    left = int((moment - now).total_seconds())
    if left < 1:
        raise OptionError("--deadline", text, f"it is past, now is {now.astimezone(UTC):%Y-%m-%dT%H:%MZ}; {remedy}")
    return left


def row_pairs(text: str) -> int:
    """`3`: one row of an estimate."""
    if not text.isdecimal() or int(text) > MAX_REQUEST_PAIRS:
        raise OptionError("--pairs", text, f"write a row's number of pairs, 0 to {MAX_REQUEST_PAIRS}, e.g. 3")
    return int(text)


def above_zero(option: str, text: str, unit: str, example: str) -> float:
    """A finite number above 0."""
    number = _finite(text)
    if number is None or number <= 0:
        raise OptionError(option, text, f"write {unit} above 0, e.g. {example}")
    return number


def not_negative(option: str, text: str, unit: str, example: str) -> float:
    """A finite number of 0 or more."""
    number = _finite(text)
    if number is None or number < 0:
        raise OptionError(option, text, f"write {unit}, 0 or more, e.g. {example}")
    return number


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
