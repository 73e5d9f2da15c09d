"""Dead letters of functions.

AWS: an event on which an asynchronously invoked function has failed for the last time goes to the function's queue as
it came, if the function's role may send there; otherwise it is lost.
Emulator: sends it in the envelope that belongs to destinations, and asks no role.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from local.patches.iam.checks import role_may
from local.patches.replace import override
from local.patches.upstream import eventbridge, lambda_svc, parse_arn

log = logging.getLogger("local.events")


def install() -> None:
    """Replace what becomes of events that a function failed on."""
    override(lambda_svc, _route_async_failure=_after_last_attempt)


def bury(queue: str, event: Any) -> None:
    """Put an event into a dead-letter queue, by its ARN."""
    eventbridge._dispatch_to_sqs(parse_arn(queue), json.dumps(event))


def _after_last_attempt(queue: str, function: str, event: Any, _result: Any) -> None:
    role = lambda_svc._functions[function]["config"]["Role"]
    if role_may(role, "sqs:SendMessage", queue):
        bury(queue, event)
    else:
        log.error("function %s: an event was lost: its role may not send to %s", function, queue)
