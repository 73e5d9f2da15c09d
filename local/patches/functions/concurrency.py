"""The limit of functions that run at once.

AWS: an invocation beyond the account's limit is refused with 429; an asynchronous one stays in the queue of its
function and is tried again for as long as the event may be old, which counts as no attempt.
Emulator: knows the limit, and counts a refusal as one of the three attempts.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Any

from local.config import LocalConfig
from local.patches.replace import override
from local.patches.upstream import lambda_svc

# AWS: from 1 s to 5 min between two tries.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0

_queued = ContextVar("queued", default=False)


def install(config: LocalConfig) -> None:
    """Set the limit, and let what is queued wait."""
    execute, queue = lambda_svc._execute_function, lambda_svc.invoke_async_with_retry

    def waiting(function: dict[str, Any], event: Any) -> dict[str, Any]:
        answer = execute(function, event)
        pause, waited = FIRST_PAUSE, 0.0
        while answer.get("throttle") and _queued.get() and waited < _most_age(function):
            time.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, LONGEST_PAUSE)
            answer = execute(function, event)
        return dict(answer)

    def queued(function: dict[str, Any], event: Any) -> None:
        token = _queued.set(True)  # the queue's thread gets a copy of the context
        try:
            queue(function, event)
        finally:
            _queued.reset(token)

    override(lambda_svc, _ACCOUNT_CONCURRENCY_CAP=config.function_concurrency)
    override(lambda_svc, _execute_function=waiting, invoke_async_with_retry=queued)


def _most_age(function: dict[str, Any]) -> float:
    settings = function.get("event_invoke_config") or (function.get("event_invoke_configs") or {}).get("$LATEST") or {}
    return float(settings.get("MaximumEventAgeInSeconds", 21_600))
