"""Unpause Transfer: invoked by people; a paused transfer goes on, and its relays are launched again where they pay."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.record.pause import Pause
from lambdas.handlers.calls.pause_transfer import PauseRequest
from lambdas.operations import pausing
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


def unpause_transfer(event: PauseRequest, world: World) -> dict[str, Any]:
    """Whether it was paused until now; raises NoSuchTransfer or NotMoving."""

    def ended(known: Pause) -> Pause | None:
        return known.ended(world.clock.now()) if known.paused else None

    noted = pausing.change(world, event.transfer_id, ended)
    if noted is not None:
        pausing.ask_for_relays(world, noted)
    return {"transferId": event.transfer_id, "paused": False, "changed": noted is not None}


def _words(done: Mapping[str, Any]) -> str:
    name = done["transferId"]
    return f"'{name}' goes on." if done["changed"] else f"'{name}' was not paused."


handler = also_by_click(user_call(PauseRequest, unpause_transfer), _words)
