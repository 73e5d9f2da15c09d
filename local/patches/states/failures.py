"""What fails a state, and under which name.

AWS: a branch of Parallel or Map may end with any error, also one of `States.`, and the state then fails with it; what
keeps Step Functions from calling Lambda is `Lambda.SdkClientException`, which a Retry may name.
Emulator: it raises where a branch ended with `States.Runtime`, so that the first cause is lost, and takes a broken
connection for `States.Runtime`, which nothing retries.
"""

from __future__ import annotations

import logging
from typing import Any

from botocore.exceptions import BotoCoreError

from local.patches.replace import override
from local.patches.states.engine import (
    ErrorName,
    ExecutionState,
    HistoryEventType,
    LambdaTask,
    branches,
    events,
    iterations,
)

log = logging.getLogger("local.states")


class EndedWith(ErrorName):  # type: ignore[misc] # the engine's class is untyped
    """The error with which a branch ended."""


def install() -> None:
    """Let branches end with any error, and connections break as they do on AWS."""
    override(branches, CustomErrorName=EndedWith)
    override(iterations, CustomErrorName=EndedWith)
    override(LambdaTask, _from_error=_from_task_error)
    override(ExecutionState, _from_error=_from_error)


_of_task = LambdaTask._from_error
_of_state = ExecutionState._from_error


def _from_error(state: Any, env: Any, ex: Exception) -> Any:
    if not isinstance(ex, events.FailureEventException):
        log.error("a state of the engine failed by itself", exc_info=ex)
    return _of_state(state, env, ex)


def _from_task_error(task: Any, env: Any, ex: Exception) -> Any:
    if not isinstance(ex, BotoCoreError):
        return _of_task(task, env, ex)
    log.warning("no answer of Lambda", exc_info=ex)
    error, cause = "Lambda.SdkClientException", f"{type(ex).__name__}: {ex}"
    details = {
        "error": error,
        "cause": cause,
        "resource": task._get_sfn_resource(),
        "resourceType": task._get_sfn_resource_type(),
    }
    return events.FailureEvent(
        env=env,
        error_name=EndedWith(error),
        event_type=HistoryEventType.TaskFailed,
        event_details={"taskFailedEventDetails": details},
    )
