"""One daemon of a transfer by hand, which may be killed and started again."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.data_plane.network import Node
from bench.data_plane.ours import is_ready
from tests.paths import ROOT

PROGRAM = ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"
PATIENCE = 240.0
"""Longest wait for anything, seconds: a hang shall fail, a slow machine shall not."""
LOG_LINES = 15


class Daemon:
    """Processes of one role, one after another."""

    def __init__(self, role: str, folder: Path, rates: Path, node: Node | None, wrapper: Sequence[str]) -> None:
        self.role, self.starts = role, 0
        self.address = f"{node.address if node else '127.0.0.1'}:0"
        self.log = folder / f"{role}.log"
        self._folder, self._rates = folder, rates
        self._prefix = [*(node.prefix if node else []), *wrapper]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, arguments: Sequence[str]) -> dict[str, Any]:
        """Start the next process; what it says when it is ready."""
        self.starts += 1
        ready = self._folder / f"{self.role}-{self.starts}.ready"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._prefix, str(PROGRAM), *arguments, "--ready", str(ready)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "CPT_RATE_LIMITS": str(self._rates)},
            )
        until(f"ready file of the {self.role}", lambda: is_ready(ready) or self.code is not None)
        assert is_ready(ready), self.story()
        return dict(json.loads(ready.read_text()))

    @property
    def code(self) -> int | None:
        """Exit code of the last process; None while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int | None:
        """SIGTERM, as teardown does; the exit code."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int | None:
        """Wait for its end; the exit code."""
        until(f"end of the {self.role}", lambda: self.code is not None)
        return self.code

    def story(self) -> str:
        """How it ended, and the last lines that it wrote."""
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_LINES:] if self.log.exists() else []
        return "\n".join([f"{self.role}, process {self.starts}, exit code {self.code}", *lines])


def until(what: str, holds: Callable[[], bool], each: Callable[[], None] | None = None) -> None:
    """Wait for a condition; `each` is called between looks."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"no {what} within {PATIENCE:.0f} s"
        if each:
            each()
        time.sleep(0.01)  # the control directory has no push
