"""Waiting for what nobody tells of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

# Machines are shared: one that has other work takes as many times as long as an idle one.
BUSY = 4

T = TypeVar("T")


def wait_for(find: Callable[[], T | None], seconds: float) -> T:
    """The first true value of `find()`. Raises TimeoutError after `BUSY` times the `seconds` of an idle machine."""
    began = time.monotonic()
    deadline = began + BUSY * seconds
    while not (found := find()):
        looked = time.monotonic()
        if looked > deadline:
            raise TimeoutError(f"nothing after {BUSY * seconds} s: {getattr(find, '__qualname__', find)}")
        # Looking for a twentieth of the time leaves the processors to what is waited for.
        time.sleep(min(max(19 * (looked - began), 0.05), 0.5))
        began = time.monotonic()
    return found
