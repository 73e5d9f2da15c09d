"""Starts emulators by forking a process that has loaded what is the same for all of them.

Modules and descriptions of services take two seconds of a core per emulator, and the tests start some fifty. Where
`CPT_LOCAL_NURSERY` names a path, the first cloud starts the process that listens there, and later ones ask it; it ends
with the process that started it. Emulators are in sessions of their own, and stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import importlib
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from local.patches.functions.worker import MARKER_BYTES, show_marker
from local.state import MARKER

VARIABLE = "CPT_LOCAL_NURSERY"
REQUEST_BYTES = 1 << 18
ATTEMPTS = 2
"""One that was killed may still take a connection."""
# None of them reads settings from the environment when it is imported, as the emulator itself does.
SHARED = (
    "boto3",
    "hypercorn.asyncio",
    "local.conformance.door",
    "local.instances.netns",
    "local.patches.states.engine",
)
SERVICES = ("cloudformation", "dynamodb", "ec2", "events", "iam", "lambda", "logs", "s3", "sqs", "ssm", "states", "sts")

_started: list[subprocess.Popen[bytes]] = []


def path(name: str) -> str | None:
    """Where the process of that name listens that makes processes for all clouds; None where each makes its own.

    A child has the network, user, limits and Python of whoever forks it: those who differ in them have others.
    """
    nursery = os.environ.get(VARIABLE)
    if not nursery:
        return None
    network, files = str(Path("/proc/self/ns/net").readlink()), resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    inherited = repr((network, os.geteuid(), files, sys.executable))
    return f"{nursery}.{name}.{hashlib.sha256(inherited.encode()).hexdigest()[:8]}"


def start(root: Path, environment: Mapping[str, str], answer: int, log: int) -> bool:
    """Start the emulator of a state directory; False where there is no nursery.

    `answer`, `log`: descriptors of its standard output and error.
    """
    listens = path("emulators")
    if listens is None:
        return False
    ours = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    # In Python this much is decided when it starts.
    ours |= {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    request = json.dumps({"root": str(root), "environment": dict(environment)}).encode()
    for _ in range(ATTEMPTS):
        with (
            contextlib.suppress(ConnectionError),
            connected(listens, [sys.executable, "-m", "local.nursery", listens], ours, Path.cwd()) as channel,
        ):
            socket.send_fds(channel, [request], [answer, log])
            if channel.recv(16) == b"started":
                return True
    raise OSError(f"{listens}: no emulator was started; what it says is above")


def connected(listens: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> socket.socket:
    """A connection to the process that listens at a path; if there is none, `command` starts it in `folder`."""
    with open(f"{listens}.lock", "wb") as lock:  # noqa: PTH123 - a name with a suffix
        fcntl.flock(lock, fcntl.LOCK_EX)
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            channel.connect(listens)
        except OSError:
            Path(listens).unlink(missing_ok=True)
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, MARKER: " " * MARKER_BYTES},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            with cast(IO[bytes], process.stdout) as answer:
                answer.readline()
            _started.append(process)  # a nursery ends when our end of its standard input is closed
            channel.connect(listens)
        return channel


def main() -> None:
    """Load what is shared, listen, and fork an emulator for each request until standard input closes."""
    for name in SHARED:
        importlib.import_module(name)
    from local.conformance.operations import service_of

    for service in SERVICES:
        service_of(service)
    # A collection writes into every object that it looks at, and so would copy all that is shared into each process.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()
    print(flush=True)  # noqa: T201 - the signal that `connected` waits for
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        channel, _ = listener.accept()
        with channel:
            request, descriptors, _, _ = socket.recv_fds(channel, REQUEST_BYTES, 2)
            if threading.active_count() > 1:
                raise RuntimeError(f"threads do not survive a fork: {threading.enumerate()}")
            if os.fork() == 0:
                listener.close()
                channel.close()
                become(**json.loads(request), descriptors=descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            channel.send(b"started")


def become(root: str, environment: dict[str, str], descriptors: list[int]) -> None:
    """Turn this process into the emulator of a state directory; never returns."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(root)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    show_marker(f"{MARKER}={root}".encode())
    time.tzset()
    random.seed()
    sys.argv = ["local.emulator", root]
    try:
        importlib.import_module("local.emulator").main()
    except SystemExit as end:
        sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 - the log is all that anybody sees of it
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
