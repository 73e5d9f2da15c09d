"""Release of the task token of Start Transfer with what the ends reported."""

from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.adapters.world import World


def release(world: World, token: ControlToken, outcome: dict[str, Any]) -> bool:
    """Succeed or fail the task; False when the execution no longer waits for it."""
    if "error" in outcome:
        return world.executions.fail(token.token, str(outcome["error"]), str(outcome.get("cause", "")))
    return world.executions.succeed(token.token, outcome)
