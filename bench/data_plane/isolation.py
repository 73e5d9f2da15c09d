"""A world of its own for one run: mounts, processes and networks that the kernel removes with it, however it ends.

The benchmark starts itself again as process 1 of a new process, mount and network namespace. When that process ends, by
Ctrl-C or by SIGKILL, the kernel kills all others in there and drops mounts and networks: nothing is cleaned up by hand.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

WORLD = ["--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
MARK = "CPT_BENCH_ISOLATED"
# Memory-backed, as all cases want it: the largest file (3.2 GB), its copy, and some room.
WORK = Path("/dev/shm")  # noqa: S108
WORK_SIZE = "8g"


def inside() -> bool:
    """Whether this process is the one inside."""
    return os.environ.get(MARK) == "yes" and os.getpid() == 1


def enter(arguments: Sequence[str], module: str = "bench.data_plane") -> int:
    """Run a module's command inside, and give its exit code. If the caller dies, so does all that is inside."""
    again = [sys.executable, "-m", module, *arguments]
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", *WORLD, *again]
    try:
        return subprocess.run(command, env={**os.environ, MARK: "yes"}, check=False).returncode
    except KeyboardInterrupt:
        return 130


def prepare() -> Path:
    """Mount what the run needs; the folder for its files."""
    # The whole of /run: network namespaces have their names there, and sshd its empty folder.
    for place, options in (("/run", "mode=755"), (str(WORK), f"size={WORK_SIZE}")):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "cpt-bench", place], check=True)
    return WORK
