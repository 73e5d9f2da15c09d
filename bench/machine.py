"""What benchmarks on emulated machines need of this one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.cloud import namespaces_available

DAEMON = Path("relay-ami/dist/x86_64/cpt-relay")
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, so that no disk is the limit


def unmet() -> list[str]:
    """Why namespaces with the daemon cannot run here."""
    found = []
    if os.geteuid() != 0:
        found.append("network namespaces need root; run it with sudo")
    elif not namespaces_available():
        found.append("no network namespaces here: apt-get install iproute2 nftables util-linux")
    return found if DAEMON.exists() else [*found, f"{DAEMON} is missing: make daemon"]


@contextmanager
def workspace(prefix: str) -> Iterator[Path]:
    """A folder in memory, where there is such a file system; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
