"""Executions that a state machine starts and waits for.

AWS: parameters and answers of the optimised integration have names in Pascal case, and times as text. An execution
that is stopped while it waits for another one stops that one too, under the state machine's role.
Emulator: it hands the parameters to its client as they are written, which refuses them; what was waited for runs on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from local.patches.replace import override
from local.patches.states import engine
from local.patches.states.engine import NestedTask, to_json_str

log = logging.getLogger("local.states")
_wait = NestedTask._eval_sync


def install() -> None:
    """Let tasks start executions, and stop them with their own."""
    resolvers = {
        name: _knowing(getattr(NestedTask, name)) for name in ("_build_sync_resolver", "_build_sync2_resolver")
    }
    override(
        NestedTask,
        _normalise_parameters=_parameters,
        _normalise_response=_response,
        _eval_sync=_stopping,
        **resolvers,
    )


@dataclass
class _Child:
    """Looks at an execution that is waited for; called, it returns how that has ended, or None."""

    look: Callable[[], Any]
    arn: str
    region: str
    credentials: Any

    def __call__(self) -> Any:
        return self.look()

    def stop(self) -> None:
        """As far as the role allows it, and where it still runs."""
        client = engine.boto_client.boto_client_for(
            service="stepfunctions", region=self.region, state_credentials=self.credentials
        )
        try:
            client.stop_execution(executionArn=self.arn)
        except ClientError as error:
            log.warning("%s is not stopped: %s", self.arn, error)


def _knowing(build: Callable[..., Any]) -> Callable[..., _Child]:
    """`build` of a resolver that knows which execution it looks at."""

    def built(self: Any, env: Any, resource_runtime_part: Any, state_credentials: Any, **given: Any) -> _Child:
        arn = str(env.stack[-1]["ExecutionArn"])
        known = {"resource_runtime_part": resource_runtime_part, "state_credentials": state_credentials}
        look = build(self, env=env, **known, **given)
        return _Child(look, arn, resource_runtime_part.region, state_credentials)

    return built


def _stopping(self: Any, env: Any, sync_resolver: _Child, **given: Any) -> Any:
    outcome = _wait(self, env=env, sync_resolver=sync_resolver, **given)
    if outcome is None and not env.is_running():
        sync_resolver.stop()
    return outcome


def _parameters(
    _: Any, parameters: dict[str, Any], boto_service_name: str | None = None, service_action_name: str | None = None
) -> None:
    del boto_service_name, service_action_name
    given = {name[0].lower() + name[1:]: value for name, value in parameters.items()}
    if "input" in given and not isinstance(given["input"], str):
        given["input"] = to_json_str(given["input"], separators=(",", ":"))
    parameters.clear()
    parameters.update(given)


def _response(
    _: Any, response: dict[str, Any], boto_service_name: str | None = None, service_action_name: str | None = None
) -> None:
    del boto_service_name, service_action_name
    told = {name[0].upper() + name[1:]: _text(value) for name, value in response.items() if name != "ResponseMetadata"}
    response.clear()
    response.update(told)


def _text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
