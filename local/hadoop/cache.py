"""What is fetched or made once for all clusters of a checkout."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
CACHE = CHECKOUT / ".cache/hadoop"
UNFINISHED = ".new-"


def once(name: str, make: Callable[[Path], None], cache: Path = CACHE) -> Path:
    """Path of `name` in the cache, which `make(path)` creates, a file or a folder, if it is not there.

    It appears whole or not at all. Of several processes that ask at once one makes it, and the others wait.
    """
    there = cache / name
    if not there.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / "lock"):
            if not there.exists():
                # Whoever was killed here has left the lock, and what was not finished.
                for left in cache.glob(f"{UNFINISHED}*"):
                    shutil.rmtree(left)
                with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=cache) as folder:
                    make(Path(folder, name))
                    Path(folder, name).rename(there)
    return there


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
