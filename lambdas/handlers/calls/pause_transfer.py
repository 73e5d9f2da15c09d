"""Pause Transfer: invoked by people; the senders begin no chunk any more, and relays go back at once."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Document, TransferId
from lambdas.core.record.pause import Pause
from lambdas.operations import pausing
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


class PauseRequest(Document):
    """Contract `pause-request`: the transfer that is to pause, or to go on."""

    transfer_id: TransferId


def pause_transfer(event: PauseRequest, world: World) -> dict[str, Any]:
    """Whether it went on until now; raises NoSuchTransfer or NotMoving.

    A look at the transfer, which the minute repeats, gives its relays back.
    """

    def paused(known: Pause) -> Pause | None:
        return None if known.paused else known.begun(world.clock.now())

    noted = pausing.change(world, event.transfer_id, paused)
    world.events.put("Look Due", {"transferId": event.transfer_id})
    return {"transferId": event.transfer_id, "paused": True, "changed": noted is not None}


def _words(done: Mapping[str, Any]) -> str:
    name = done["transferId"]
    if done["changed"]:
        return f"'{name}' is paused: what is under way arrives, and its relays are given back."
    return f"'{name}' was paused already."


handler = also_by_click(user_call(PauseRequest, pause_transfer), _words)
