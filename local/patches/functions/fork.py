"""The emulator's side of `worker.py`: one fork server per asset, and the processes it makes."""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from local import nursery
from local.state import MARKER, StateDir

WORKER = Path(__file__).with_name("worker.py")
PURE = "lambdas/core,lambdas/adapters"


class ForkedProcess:
    """A function's process: the part of `subprocess.Popen` that the emulator's pool uses."""

    def __init__(self, pid: int, handle: int, stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._handle = handle

    def __del__(self) -> None:
        os.close(self._handle)

    def poll(self) -> int | None:
        """0 once the process has ended, else None."""
        return 0 if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired("function", timeout or 0)
        return 0

    def _has_ended(self, seconds: float | None) -> bool:
        """Return whether it ends within so long; None: however long that takes."""
        # select.select takes no descriptor above 1023, and a cloud with many transfers has more.
        ended = select.poll()
        ended.register(self._handle, select.POLLIN)
        return bool(ended.poll(None if seconds is None else seconds * 1000))

    def terminate(self) -> None:
        """SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)


class ForkServer:
    """Makes the processes of all functions that share one asset and one Python.

    `paths`: where it imports from. `bytecode`: where compiled modules are kept. `pure`: packages of the asset that the
    server imports for all of them, which must read neither environment nor clock meanwhile.
    `shared`: all paths outlive this cloud. Then, where emulators are forked from one process, so are their servers: to
    make one takes two seconds of a core.
    """

    def __init__(
        self,
        state: StateDir,
        python: str,
        code: Path,
        paths: Sequence[Path],
        bytecode: Path,
        *,
        pure: str = PURE,
        shared: bool = False,
    ) -> None:
        self._lock = threading.Lock()
        # On Lambda nothing can be written beside the code; the asset stays as it was synthesized.
        command = [python, "-S", "-E", "-X", f"pycache_prefix={bytecode}", str(WORKER)]
        # LAMBDA_TASK_ROOT: the X-Ray library looks for it when it is imported.
        environment = {"PATH": "/usr/bin:/bin", "LAMBDA_TASK_ROOT": str(code)}
        what = [pure, *map(str, paths)]
        digest = hashlib.sha256(repr((command, code, what)).encode()).hexdigest()[:8]
        if shared and (listens := nursery.path(digest)):
            self._channel = nursery.connected(listens, [*command, listens, *what], environment, code)
            self._channel.send(f"{MARKER}={state.root}".encode())
            return
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.Popen(
                [*command, str(theirs.fileno()), *what],
                cwd=code,
                env={**environment, MARKER: str(state.root)},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def start(self, handler: str, environment: dict[str, str]) -> ForkedProcess:
        """A new process that has `handler`. Raises OSError when the server has ended."""
        request = json.dumps({"handler": handler, "environment": environment}).encode()
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        try:
            with self._lock:
                socket.send_fds(self._channel, [request], theirs)
                pid, handles, _, _ = socket.recv_fds(self._channel, 64, 1)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        if not pid:
            raise BrokenPipeError("the fork server has ended; see emulator.log")
        return ForkedProcess(
            int(pid),
            handles[0],
            os.fdopen(pipes[0][1], "w", buffering=1),
            os.fdopen(pipes[1][0]),
            os.fdopen(pipes[2][0], errors="replace"),
        )
