"""Await Measuring Approval: as Await Approval, before relays are launched only to be measured."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.handlers.states.await_approval import AwaitInput, await_approval
from lambdas.runtime.handler import task_state


def await_measuring_approval(event: AwaitInput, world: World) -> dict[str, Any]:
    """Keep the task token, and tell people what they may choose; raises TransferFenced."""
    return await_approval(event, world)


handler = task_state("Await Measuring Approval", AwaitInput, await_measuring_approval)
