"""One daemon of Hadoop as a process that can be stopped, killed and started again."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

from local.hadoop.errors import HadoopError
from local.hadoop.machine import Machine

STOP_SECONDS = 20
KEPT_LINES = 12


class Daemon:
    """A name node or data node on a machine. Its log goes on when it starts again."""

    def __init__(self, machine: Machine, command: Sequence[str]) -> None:
        self.machine = machine
        self._command = [*machine.prefix, *command]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and neither stopped nor killed."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of the running process. Raises HadoopError."""
        if self._process is None:
            raise HadoopError(f"{self.machine.name} does not run")
        return self._process.pid

    def start(self) -> None:
        """Start it; returns at once. Raises HadoopError if it runs."""
        if self._process is not None and self._process.poll() is None:
            raise HadoopError(f"{self.machine.name} runs already")
        self.machine.log.parent.mkdir(parents=True, exist_ok=True)
        with self.machine.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(self.machine.environment),
                cwd=self.machine.folder,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise HadoopError with the end of its log if it should run and does not."""
        if self._process is not None and self._process.poll() is not None:
            end = self.machine.log.read_text(errors="replace").splitlines()[-KEPT_LINES:]
            raise HadoopError(f"{self.machine.name} ended with code {self._process.returncode}: " + "\n".join(end))

    def stop(self) -> None:
        """Have it end by itself; nothing if it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, in the middle of what it does; nothing if it does not run."""
        self._end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP. Raises HadoopError if it does not run."""
        if self._process is None:
            raise HadoopError(f"{self.machine.name} does not run")
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
