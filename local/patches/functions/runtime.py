"""Lambda functions in real processes.

AWS: a function sees its own asset, the runtime's boto3 and nothing else; its environment holds its variables and its
role's keys; an error carries the exception's class as `errorType` and leaves the environment warm; a timeout ends it
with `Sandbox.Timedout`; a result above 6 MB is refused; its log has all that an invocation has said.
Emulator: unpacks the asset anew for each process, hands over its whole environment and site-packages (a dependency that
was not bundled goes unnoticed), calls every error `Runtime.HandlerError`, ends the process after an error, and waits 50
ms for logs after every call, on a busy machine in vain.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import boto3

from local.calls import Calls
from local.config import LocalConfig
from local.facts import fact
from local.interpreters import Interpreter, interpreter_of, lay_substitutes
from local.patches.functions import assets
from local.patches.functions.fork import ForkedProcess, ForkServer
from local.patches.functions.worker import END_OF_LOG
from local.patches.iam.credentials import role_session
from local.patches.replace import override
from local.patches.upstream import lambda_runtime, lambda_svc
from local.state import MARKER, StateDir

log = logging.getLogger("local.lambda")

WORKER = Path(__file__).with_name("worker.py")
RESULT_BYTES = fact("lambda-response-bytes")
SPAWN_SECONDS, LOG_SECONDS = 60, 5

_execute_warm = lambda_svc._execute_function_warm
_errors = threading.local()
_server_lock = threading.Lock()
_servers: dict[tuple[Path, Interpreter], ForkServer] = {}


def install(config: LocalConfig, state: StateDir, endpoint: str, calls: Calls) -> None:
    """Replace how workers are spawned and asked; invocations are counted, and their time as AWS charges it."""
    base: Any = lambda_runtime.Worker

    class Worker(base):  # type: ignore[misc] # the emulator's class is untyped; its pool reads its attributes
        """A warm process of one function; the emulator's pool calls it."""

        _proc: ForkedProcess | None

        def _spawn(self) -> float:
            """Start its process; returns how long the import of what it shares with others would have taken it."""
            time.sleep(config.cold_start_seconds)
            code = assets.unpacked(self.code_zip)
            state.logs.joinpath("lambda").mkdir(parents=True, exist_ok=True)
            process = _server(state, self.config["Runtime"], code).start(
                self.config["Handler"],
                {"POLL_SECONDS": str(config.poll_seconds), **_environment(self.config, state, code, endpoint)},
            )
            self._proc = process
            self._said: queue.Queue[str | None] = queue.Queue()
            told = (process.stderr, state.logs / "lambda" / f"{self.func_name}.log", self._said)
            threading.Thread(target=_listen, args=told, daemon=True, name=f"stderr-{self.func_name}").start()
            line = self._read(SPAWN_SECONDS)
            if line is None or line.get("status") != "ready":
                self._end()
                raise _InitError(line or {"error": "the process ended", "errorType": "Runtime.ExitError"})
            self._start_time = time.time()
            return float(line["sharedSeconds"])

        def _log(self) -> str:
            """What the process has said up to the end of an invocation, or up to its own end."""
            lines = []
            # One that lives has told its end before it answered. What a dead one has started may keep its streams open.
            longest = LOG_SECONDS if self._proc is None else None
            with suppress(queue.Empty):
                while (line := self._said.get(timeout=longest)) is not None:
                    lines.append(line)
            return "\n".join(lines)

        def invoke(self, event: Any, request_id: str, **options: Any) -> dict[str, Any]:
            """Run one invocation; `{"status": "ok", "result"}` or `{"status": "error", "error", "errorType"}`."""
            shared_seconds = 0.0
            with self._lock:
                if self._proc is None or self._proc.poll() is not None:
                    try:
                        shared_seconds = self._spawn()
                    except _InitError as error:
                        return {**error.answer, "status": "error", "log": self._log()}
                timeout = float(self.config.get("Timeout", 3))
                request = {
                    "event": event,
                    "requestId": request_id,
                    "seconds": timeout,
                    "traceId": options.get("trace_id"),
                    "invoked": options.get("invoked", self.config["FunctionArn"]),
                }
                self._process().stdin.write(json.dumps(request) + "\n")
                answer = self._read(timeout)
                if answer is None and self._proc is not None and self._proc.poll() is None:
                    self._end()
                    answer = {
                        "status": "error",
                        "error": f"Task timed out after {timeout:.2f} seconds",
                        "errorType": "Sandbox.Timedout",
                    }
                elif answer is None:
                    self._end()
                    answer = {"status": "error", "error": "Runtime exited", "errorType": "Runtime.ExitError"}
                return {**answer, "log": self._log(), "sharedSeconds": shared_seconds}

        def _process(self) -> ForkedProcess:
            if self._proc is None:
                raise BrokenPipeError(f"{self.func_name} has no process")
            return self._proc

        def _read(self, seconds: float) -> dict[str, Any] | None:
            box: list[str] = []
            stdout = self._process().stdout
            reader = threading.Thread(target=lambda: box.append(stdout.readline()), daemon=True)
            reader.start()
            reader.join(seconds)
            return json.loads(box[0]) if box and box[0] else None

        def _end(self) -> None:
            process, self._proc = self._proc, None
            if process is not None:
                process.kill()
                process.wait()

    override(lambda_runtime, Worker=Worker, _worker_class_for=lambda config: Worker)
    override(lambda_svc, _execute_function_warm=_counting(calls))


def _listen(stderr: IO[str], file: Path, said: queue.Queue[str | None]) -> None:
    """Note what a process says, and that an invocation or the process has ended: None."""
    with file.open("a") as target:
        for line in stderr:
            text, ends, rest = line.rstrip("\n").rpartition(END_OF_LOG)
            if text or not ends:
                said.put(text or rest)
                target.write(f"{text or rest}\n")
                target.flush()
            if ends:
                said.put(None)
    said.put(None)


class _InitError(Exception):
    """The function's module could not be imported; `answer` says why."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer.get("error"))
        self.answer = answer


def _counting(calls: Calls) -> Callable[[dict[str, Any], Any, str], dict[str, Any]]:
    """AWS gives each process its share of a core, so what others take of this machine's cores is not billed.

    It bills each process for all of its start.
    """

    def execute(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        began, queued, shared = time.monotonic(), 0.0, 0.0
        try:
            answer = _answer(function, event, request_id)
            queued, shared = answer.get("queuedSeconds", 0.0), answer.get("sharedSeconds", 0.0)
            return _result(answer)
        finally:
            memory = float((function.get("config") or function).get("MemorySize", 128)) / 1024
            calls.add("lambdaRequests")
            calls.add("lambdaGBSeconds", memory * (shared + max(time.monotonic() - began - queued, 0.0)))

    return execute


def _answer(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
    """What a process answers; `refused` instead where there is none."""
    config = function.get("config") or function
    if not function.get("code_zip"):
        return {
            "refused": {"body": {"errorMessage": "no code", "errorType": "Runtime.NoCode"}, "error": True, "log": ""}
        }
    worker, reason = lambda_runtime.acquire_worker(
        config["FunctionName"], config, function["code_zip"], qualifier=config.get("Version", "$LATEST")
    )
    if worker is None:
        return {"refused": dict(lambda_svc._throttle_response(reason_code=str(reason), msg="Rate Exceeded."))}
    try:
        # One process serves all aliases of its version: each invocation says through which it came.
        told = {"trace_id": lambda_svc._xray_trace_id_for_invocation(config), "invoked": config["FunctionArn"]}
        return dict(worker.invoke(event, request_id, **told))
    finally:
        lambda_runtime.release_worker(worker)


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if "refused" in answer:
        return dict(answer["refused"])
    if answer["status"] != "ok":
        body = {"errorMessage": answer["error"], "errorType": answer["errorType"]}
        if answer.get("stackTrace"):
            body["stackTrace"] = answer["stackTrace"]
        return {"body": body, "error": True, "log": answer["log"]}
    size = len(json.dumps(answer["result"]))
    if size > RESULT_BYTES:
        message = f"Response payload size ({size} bytes) exceeded maximum allowed payload size ({RESULT_BYTES} bytes)."
        body = {"errorMessage": message, "errorType": "Function.ResponseSizeTooLarge"}
        return {"body": body, "error": True, "log": answer["log"]}
    return {"body": answer["result"], "log": answer["log"]}


def _environment(config: dict[str, Any], state: StateDir, code: Path, endpoint: str) -> dict[str, str]:
    name = config["FunctionName"]
    region = config["FunctionArn"].split(":")[3]
    keys = role_session(config["Role"], name)
    return {
        **{key: str(value) for key, value in (config.get("Environment") or {}).get("Variables", {}).items()},
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "TMPDIR": os.environ["TMPDIR"],
        "LAMBDA_TASK_ROOT": str(code),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{config['Runtime']}",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.get("MemorySize", 128)),
        "AWS_LAMBDA_LOG_GROUP_NAME": (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": "local",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "_HANDLER": config["Handler"],
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["Token"],
        MARKER: str(state.root),
    }


def prepare(state: StateDir, runtime: str, code_zip: bytes) -> None:
    """Unpack an asset and start its fork server ahead of the first invocation."""
    _server(state, runtime, assets.unpacked(code_zip))


def _server(state: StateDir, runtime: str, code: Path) -> ForkServer:
    python = interpreter_of(runtime)
    with _server_lock:
        if (code, python) not in _servers:
            paths = import_paths(state, python, runtime, code)
            shared = python.name == runtime  # what stands in for native code lies in the cloud's own directory
            _servers[code, python] = ForkServer(state, python.executable, code, paths, assets.BYTECODE, shared=shared)
        return _servers[code, python]


def import_paths(state: StateDir, python: Interpreter, runtime: str, code: Path) -> list[Path]:
    """Return where a function imports from, before and after Python's own library: the last one comes after it."""
    paths = [code, assets.runtime_packages(Path(boto3.__file__).parents[1])]
    if python.name != runtime:
        substitutes = state.lambda_code / "substitutes" / f"{code.name}-{python.name}"
        lay_substitutes(code, substitutes)
        paths.insert(0, substitutes)
    return paths
