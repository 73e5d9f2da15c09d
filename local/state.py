"""The state directory of a local cloud: what runs, and how to remove all of it even after kill -9."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARKER = "CPT_LOCAL_STATE"  # environment variable that every process of a local cloud carries


@dataclass(frozen=True)
class StateDir:
    """Paths below the state directory (made absolute)."""

    root: Path

    @property
    def state_file(self) -> Path:
        """`{"pid", "port", "endpoint", "account", "instances"}` of the running emulator."""
        return self.root / "state.json"

    @property
    def config_file(self) -> Path:
        """The resolved configuration, JSON."""
        return self.root / "config.json"

    @property
    def log_file(self) -> Path:
        """Log of the emulator."""
        return self.root / "emulator.log"

    @property
    def violations(self) -> Path:
        """Answers of the emulator that AWS's models do not allow, one a line; there are none where it is missing."""
        return self.root / "violations.tsv"

    @property
    def logs(self) -> Path:
        """Logs that outlive a run: `lambda/NAME.log`, `instances/ID/…`."""
        return self.root / "logs"

    @property
    def instances(self) -> Path:
        """Directory trees of live instances."""
        return self.root / "instances"

    @property
    def lambda_code(self) -> Path:
        """What stands in for native code of an asset."""
        return self.root / "lambda"

    @property
    def network_prefix(self) -> str:
        """Prefix of this cloud's namespaces: the same for the same directory, so a later `down` finds them."""
        return "cpt" + hashlib.sha256(str(self.root).encode()).hexdigest()[:6]

    def read(self) -> dict[str, object] | None:
        """State of the last emulator, or None when there is none."""
        try:
            content = json.loads(self.state_file.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return None
        return content if isinstance(content, dict) else None

    def processes(self) -> list[int]:
        """Process ids that carry this directory's marker."""
        return processes_with(MARKER, str(self.root))

    def clean_up(self, *, keep_logs: bool = True) -> None:
        """Kill every process of this cloud, delete its namespaces and working files."""
        kill_all(self.processes)
        for name in namespaces(self.network_prefix):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        for path in (self.instances, self.lambda_code):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.state_file, self.config_file, self.violations):
            path.unlink(missing_ok=True)
        if not keep_logs:
            shutil.rmtree(self.root, ignore_errors=True)


def processes_with(variable: str, value: str) -> list[int]:
    """Ids of the other processes in whose environment the variable has this value."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if wanted in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def namespaces(prefix: str) -> list[str]:
    """Names of network namespaces that begin with `prefix`."""
    try:
        return [path.name for path in Path("/run/netns").iterdir() if path.name.startswith(prefix)]
    except OSError:
        return []


def kill_all(find: Callable[[], list[int]], grace: float = 2.0) -> None:
    """SIGTERM what `find()` lists, SIGKILL what is left after `grace` seconds, until nothing is listed."""
    deadline = time.monotonic() + grace
    while pids := find():
        late = time.monotonic() - deadline
        if late > 5:
            raise RuntimeError(f"processes {pids} do not end; they may be in uninterruptible sleep")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late > 0 else signal.SIGTERM)
        time.sleep(0.02)  # between two looks at /proc; the loop ends as soon as nothing is listed
