"""Programs with their time, CPU time and memory."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.data_plane.network import Node

POLL_SECONDS = 0.002
SAMPLE_EVERY = 25  # polls
LOG_LINES = 12


class BenchError(Exception):
    """A case could not be measured; the message says why."""


@dataclass(frozen=True)
class Ended:
    """What a program used, from start to exit."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


class Program:
    """A program that runs in a node, or outside any."""

    def __init__(
        self, argv: Sequence[str], log: Path, node: Node | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._name = Path(argv[0]).name
        self._log = log
        self._peak = 0
        self._ended: Ended | None = None
        with log.open("wb") as sink:
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                [*(node.prefix if node else []), *argv],
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {})},
            )

    @property
    def pid(self) -> int:
        """The program's own: what enters the namespace becomes it."""
        return self._process.pid

    def wait(self, timeout: float, each: Callable[[], None] | None = None) -> Ended:
        """Wait for its exit with code 0; `each` is called some twenty times a second meanwhile. Raises BenchError."""
        return self._wait(timeout, each, codes=(0,))

    def stop(self, timeout: float = 20) -> Ended:
        """End it with SIGTERM; raises BenchError when it does not obey."""
        if self._ended is None:
            os.kill(self.pid, signal.SIGTERM)  # `Popen` would collect one that has ended, and `_wait` find nothing
        return self._wait(timeout, None, codes=(0, -signal.SIGTERM, 128 + signal.SIGTERM, 1, 20))

    def kill(self) -> None:
        """End it, whatever it does."""
        if self._ended is None and self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def cpu_seconds(self) -> float:
        """CPU time so far, in ticks of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Largest resident size so far (`getrusage` of a child would count this Python, from before `exec`)."""
        status = Path(f"/proc/{self.pid}/status").read_text() if self._ended is None else ""
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self._peak = max(self._peak, int(line.split()[1]) * 1024)
        return self._peak

    def tail(self) -> str:
        """The last lines of what it wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def check(self) -> None:
        """Raises BenchError if it has ended already."""
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            raise BenchError(f"{self._name} ended too early: {self.tail()}")

    def _wait(self, timeout: float, each: Callable[[], None] | None, codes: tuple[int, ...]) -> Ended:
        if self._ended is not None:
            return self._ended
        deadline = time.monotonic() + timeout
        polls = 0
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            now = time.monotonic()
            if pid:
                break
            if now > deadline:
                raise BenchError(f"{self._name} did not end within {timeout:.0f} s: {self.tail()}")
            if polls % SAMPLE_EVERY == 0:
                self.peak_bytes()
                if each:
                    each()
            polls += 1
            time.sleep(POLL_SECONDS)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._ended = Ended(now - self.started, usage.ru_utime + usage.ru_stime, self._peak)
        if self._process.returncode not in codes:
            raise BenchError(f"{self._name} ended with {self._process.returncode}: {self.tail()}")
        return self._ended


@contextmanager
def running(
    argv: Sequence[str], log: Path, node: Node | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """A program that is gone afterwards, whatever happens."""
    program = Program(argv, log, node, env)
    try:
        yield program
    finally:
        program.kill()


def until(holds: Callable[[], bool], what: str, programs: Sequence[Program] = (), timeout: float = 20) -> None:
    """Wait for a condition while these programs live. Raises BenchError."""
    deadline = time.monotonic() + timeout
    while not holds():
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            raise BenchError(f"{what}: not within {timeout:.0f} s")
        time.sleep(POLL_SECONDS * 5)


def listening(node: Node, port: int, program: Program) -> None:
    """Wait until something listens on a port of a node, without connecting to it."""

    def is_open() -> bool:
        lines: list[str] = []
        for table in ("tcp", "tcp6"):
            with suppress(FileNotFoundError):  # it has ended, which `until` will say
                lines += Path(f"/proc/{program.pid}/net/{table}").read_text().splitlines()
        return any(f":{port:04X} " in line and " 0A " in line for line in lines)

    until(is_open, f"port {port} of {node.namespace}", [program])
