"""How much is broken: some of it by default, all of it with `make chaos`."""

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

VARIABLE = "CPT_CHAOS"
FULL = os.environ.get(VARIABLE) == "full"

T = TypeVar("T")

only_full = pytest.mark.skipif(not FULL, reason="with make chaos")


def cases(full: Sequence[T], short: Sequence[T]) -> list[T]:
    """The cases of this run: those of `make chaos`, or those that `make test` has time for."""
    return list(full if FULL else short)
