"""Configured faults of Lambda's invocations.

AWS: a function may run out of time after its last effect; an event source, and rarely the state machine, may invoke
twice.
Emulator: neither happens by itself.
"""

from __future__ import annotations

import threading
import uuid
from typing import Any

from local.instances.faults import Faults
from local.patches.replace import override
from local.patches.upstream import account_id, lambda_svc, region_name, request_scope

TWICE = "Twice"


def install(faults: Faults) -> None:
    """Guard every invocation, whoever asks for it."""
    execute = lambda_svc._execute_function_warm

    def guarded(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        name = (function.get("config") or function)["FunctionName"]
        fault = faults.hit("Invoke", region_name(), function=name)
        if fault is None:
            return dict(execute(function, event, request_id))
        if fault.code == TWICE:
            account, region = account_id(), region_name()

            def again() -> None:
                with request_scope(account, region):
                    execute(function, event, str(uuid.uuid4()))

            threading.Thread(target=again, daemon=True, name=f"twice-{name}").start()
            return dict(execute(function, event, request_id))
        answer = execute(function, event, request_id)
        return {
            "body": {"errorMessage": "Spoiled by a script of the local cloud.", "errorType": fault.code},
            "error": True,
            "log": answer.get("log", ""),
        }

    override(lambda_svc, _execute_function_warm=guarded)
