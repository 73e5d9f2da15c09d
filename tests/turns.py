"""Which tests may run at the same time, across the workers of a session."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

LOOK_SECONDS = 0.2


@contextmanager
def turn(folder: Path, name: str, places: int) -> Iterator[None]:
    """Hold one of `places` of that name, for as long as this process lives at most; waits until one is free."""
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"{name}-{place}").open("wb")) for place in range(places)]
        while not any(map(_taken, files)):
            time.sleep(LOOK_SECONDS)  # the kernel has no wait for one of several locks
        yield


def _taken(file: object) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[arg-type]
    except BlockingIOError:
        return False
    return True
