"""Runs inside a function's process: `python -S -E lambda_worker.py CODE RUNTIME HANDLER`; one JSON line per invocation.

No other module of the project is imported here: the function must find only what the real runtime has.
"""

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any


class Context:
    """The context object of one invocation."""

    def __init__(self, request_id: str, seconds: float) -> None:
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.invoked_function_arn = os.environ["LOCAL_FUNCTION_ARN"]
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
    """Import the handler, then answer invocations until standard input closes."""
    code, runtime, handler_name = sys.argv[1:4]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    sys.path[0:1] = [code]
    sys.path.append(runtime)
    try:
        module, _, function = handler_name.rpartition(".")
        handler = getattr(importlib.import_module(module.replace("/", ".")), function)
    except BaseException as error:  # noqa: BLE001 - AWS reports whatever an import raises
        traceback.print_exc()
        failed = "Runtime.ImportModuleError" if isinstance(error, ImportError) else type(error).__name__
        answers.write(
            json.dumps({"status": "error", "error": f"Unable to import {module}: {error}", "errorType": failed}) + "\n"
        )
        return
    answers.write('{"status": "ready"}\n')
    for line in sys.stdin:
        answers.write(answer(handler, json.loads(line)) + "\n")


def answer(handler: Any, request: dict[str, Any]) -> str:
    """One invocation; JSON text."""
    if request["traceId"]:
        os.environ["_X_AMZN_TRACE_ID"] = request["traceId"]
    try:
        result = handler(request["event"], Context(request["requestId"], request["seconds"]))
        return json.dumps({"status": "ok", "result": result})
    except Exception as error:  # noqa: BLE001 - AWS reports whatever a handler raises
        traceback.print_exc()
        return json.dumps(
            {
                "status": "error",
                "error": str(error),
                "errorType": type(error).__name__,
                "stackTrace": traceback.format_tb(error.__traceback__),
            }
        )


if __name__ == "__main__":
    main()
