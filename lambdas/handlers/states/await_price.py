"""Await Price: a transfer that names a price of the pool starts once it is that low, and at the latest in time.

The price that it starts with stays, whatever comes. Nothing of it runs meanwhile: the execution waits between looks.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.awaiting_price import look
from lambdas.runtime.handler import task_state


class PriceInput(Handover):
    """Input of the state; `wait`: what the last look left, None for the first."""

    transfer: AcceptedTransfer
    wait: PriceWait | None = None


def await_price(event: PriceInput, world: World) -> dict[str, Any]:
    """What this look found; `waitSeconds` where another one is to follow. Raises TransferFenced or MissingPrice."""
    return look(world, event.transfer, event.wait).to_document()


handler = task_state("Await Price", PriceInput, await_price)
