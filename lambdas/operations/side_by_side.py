"""One look at many transfers, or regions, side by side: one that hangs or fails costs only those it concerns."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Subject = TypeVar("Subject")
Found = TypeVar("Found")
WORKERS = 16


@dataclass
class Looks(Generic[Found]):
    """What was found, and what a look failed at, by the subject's name."""

    found: dict[str, Found] = field(default_factory=dict)
    broken: dict[str, Exception] = field(default_factory=dict)


def look_at_each(subjects: Mapping[str, Subject], look: Callable[[Subject], Found], tries: int = 1) -> Looks[Found]:
    """Look at all; those at which a look failed come again after the others, up to `tries` times in all."""
    looks = Looks[Found]()
    left = dict(subjects)
    for _ in range(tries):
        if not left:
            break
        with ThreadPoolExecutor(min(len(left), WORKERS)) as pool:
            calls = {name: pool.submit(look, subject) for name, subject in left.items()}
        failed = {name: error for name, call in calls.items() if (error := call.exception()) is not None}
        if other := [error for error in failed.values() if not isinstance(error, Exception)]:
            raise other[0]
        looks.found |= {name: call.result() for name, call in calls.items() if name not in failed}
        looks.broken = {name: error for name, error in failed.items() if isinstance(error, Exception)}
        left = {name: left[name] for name in looks.broken}
    return looks
