"""What the benchmarks' command lines have in common."""

import argparse
from collections.abc import Callable, Collection


def names_among(cases: Collection[str]) -> Callable[[str], list[str]]:
    """The type of an option that names cases, with commas between them."""

    def chosen(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in cases]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: no such case; there are {', '.join(cases)}")
        return names

    return chosen


def positive(text: str) -> float:
    """The type of an option that is a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def count(text: str) -> int:
    """The type of an option that is a whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
