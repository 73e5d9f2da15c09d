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
