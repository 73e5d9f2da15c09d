"""Makes function processes: `python -S -E worker.py SOCKET PURE PATH…`, one per asset and Python.

What all functions share is imported once, which takes two seconds; each request on the socket forks a process that
imports its handler and answers one JSON line per invocation. No other module of the project is imported here: a
function must find only what the real runtime has.

SOCKET is a descriptor, or a path: then it serves many local clouds, and forks such a process for each that connects.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import select
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any

REQUEST_BYTES = 1 << 18  # a function's environment is 4 KB at most, the rest is paths and keys
MARKER_BYTES = 4096  # room for the marker of a local cloud, which is a path
CLOCK_AHEAD = "LOCAL_CLOCK_AHEAD_SECONDS"
"""By how much a function's wall clock is ahead, from its environment: a test need not wait for what a minute brings."""
END_OF_LOG = "\x1e"
"""Ends what a process has said of an invocation: its log and its answer go two ways, and the answer may be faster."""
IDLE_SECONDS, LOOK_SECONDS = 60, 1
SHARED = (
    "boto3",
    "aws_lambda_powertools",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_lambda_powertools.utilities.parser",
    "aws_xray_sdk.core",
    "jsonschema",
)
# The services that most functions call, and what a client of one reads.
SERVICES = ("dynamodb", "ec2", "events", "s3", "ssm", "stepfunctions")
OF_A_SERVICE = ("service-2", "endpoint-rule-set-1")
OF_ALL_SERVICES = ("endpoints", "partitions", "sdk-default-configuration", "_retry")


class Context:
    """The context object of one invocation."""

    def __init__(self, request_id: str, seconds: float, invoked: str) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.invoked_function_arn = invoked
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.aws_request_id = request_id
        self.identity = None
        self.client_context = None
        self._deadline = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function is killed."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def main() -> None:
    """Import what is shared, then fork a function's process for each request until the socket closes.

    PURE: packages of the asset of which all modules are shared too, with commas; empty for none.
    """
    # Between the asset and the runtime's packages is Python's own library; the worker's folder is not to be seen.
    where, pure, *first, runtime = sys.argv[1:]
    sys.path[0:1] = first
    sys.path.append(runtime)
    import_shared(Path.cwd(), [package for package in pure.split(",") if package])
    shared_seconds = time.process_time()
    # A collection writes into every object that it looks at, and so would copy all that is shared into each process.
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(where)) if where.isdigit() else accepted(where), shared_seconds)


def accepted(path: str) -> socket.socket:
    """Listen at `path` and fork for each local cloud that connects; returns in such a process, with its connection.

    It ends when `path` is gone, or when nobody has used it for a minute.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    print(flush=True)  # noqa: T201 - the signal that it listens
    used = time.monotonic()
    while os.path.exists(path):  # noqa: PTH110 - `Path` has been imported by name
        if reap() is None and time.monotonic() - used > IDLE_SECONDS:
            break
        if not select.select([listener], [], [], LOOK_SECONDS)[0]:
            continue
        used = time.monotonic()
        channel, _ = listener.accept()
        marker = channel.recv(REQUEST_BYTES)
        if os.fork() == 0:
            listener.close()
            os.setsid()
            show_marker(marker)
            return channel
        channel.close()
    sys.exit()


def show_marker(marker: bytes) -> None:
    """Write `NAME=value` over the value that NAME has, in the memory that the kernel shows as `/proc/PID/environ`.

    By it a process is found even after kill -9; what a process sets later, the kernel does not show. The process must
    have been started with MARKER_BYTES there.
    """
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    first, last = int(fields[47]), int(fields[48])  # env_start and env_end, 50 and 51 of proc(5)
    name = marker.partition(b"=")[0] + b"="
    if len(marker) > len(name) + MARKER_BYTES:
        raise ValueError(f"{marker!r} is longer than {MARKER_BYTES} bytes")
    at = first + ctypes.string_at(first, last - first).index(name)
    ctypes.memmove(at, marker.ljust(len(name) + MARKER_BYTES, b"\0"), len(name) + MARKER_BYTES)


def serve(channel: socket.socket, shared_seconds: float) -> None:
    """Fork a function's process for each request until the socket closes."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, REQUEST_BYTES, 3)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            channel.close()
            become(json.loads(message), descriptors, shared_seconds)
        for descriptor in descriptors:
            os.close(descriptor)
        handle = os.pidfd_open(pid)
        socket.send_fds(channel, [str(pid).encode()], [handle])
        os.close(handle)
        while reap():
            pass


def import_shared(code: Path, pure: list[str]) -> None:
    """Import what an asset's functions share, and read the descriptions of services into boto3's default session."""
    files = [file for package in pure for file in sorted((code / package).rglob("*.py"))]
    modules = (".".join(file.relative_to(code).with_suffix("").parts) for file in files)
    for name in (*SHARED, *(module.removesuffix(".__init__") for module in modules)):
        # A handler that needs what cannot be imported fails in its own process.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if pydantic := sys.modules.get("pydantic"):
        for model in subclasses(pydantic.BaseModel):
            with contextlib.suppress(Exception):  # else each process would make again what it validates by
                model.model_rebuild()
    if boto3 := sys.modules.get("boto3"):
        boto3.setup_default_session()
        loader = boto3.DEFAULT_SESSION._session.get_component("data_loader")
        for service in SERVICES:
            for kind in OF_A_SERVICE:
                loader.load_service_model(service, kind)
        for name in OF_ALL_SERVICES:
            loader.load_data(name)


def subclasses(kind: Any) -> list[Any]:
    """All classes that derive from `kind`; those that were defined first come first."""
    return [each for child in kind.__subclasses__() for each in (child, *subclasses(child))]


def reap() -> bool | None:
    """Collect one process that has ended; False when there is none, None when no process is left."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return None


def become(request: dict[str, Any], descriptors: list[int], shared_seconds: float) -> None:
    """Turn this process into the function's: own session, environment and streams; never returns.

    `shared_seconds`: what all that it did not have to import itself took of a processor.
    """
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    random.seed()
    if ahead := float(os.environ.get(CLOCK_AHEAD, 0)):
        real = time.time
        time.time = lambda: real() + ahead
    try:
        run(request["handler"], shared_seconds)
    finally:
        sys.stderr.flush()
        os._exit(0)


def run(handler_name: str, shared_seconds: float) -> None:
    """Import the handler, then answer invocations until standard input closes."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
    module, _, function = handler_name.rpartition(".")
    try:
        handler = getattr(importlib.import_module(module.replace("/", ".")), function)
    except BaseException as error:  # noqa: BLE001 - AWS reports whatever an import raises
        traceback.print_exc()
        failed = "Runtime.ImportModuleError" if isinstance(error, ImportError) else type(error).__name__
        message = f"Unable to import module '{module}': {error}"
        answers.write(json.dumps({"status": "error", "error": message, "errorType": failed}) + "\n")
        return
    answers.write(json.dumps({"status": "ready", "sharedSeconds": shared_seconds}) + "\n")
    queued = 0.0
    for line in os.fdopen(0):
        answers.write(answer(handler, json.loads(line), queued) + "\n")
        queued = queued_seconds()


def queued_seconds() -> float:
    """For how long this process could run since it began, while others had the processors; 0 where no kernel tells."""
    try:
        return int(Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def answer(handler: Any, request: dict[str, Any], queued: float) -> str:
    """One invocation; JSON text. `queued`: what `queued_seconds` was after the one before."""
    if request["traceId"]:
        os.environ["_X_AMZN_TRACE_ID"] = request["traceId"]
    try:
        result = handler(request["event"], Context(request["requestId"], request["seconds"], request["invoked"]))
        return json.dumps({"status": "ok", "result": result, "queuedSeconds": queued_seconds() - queued})
    except Exception as error:  # noqa: BLE001 - AWS reports whatever a handler raises
        traceback.print_exc()
        why = {"error": str(error), "errorType": type(error).__name__}
        told = {**why, "stackTrace": traceback.format_tb(error.__traceback__)}
        return json.dumps({"status": "error", **told, "queuedSeconds": queued_seconds() - queued})
    finally:
        sys.stderr.write(f"{END_OF_LOG}\n")


if __name__ == "__main__":
    main()
