"""Where relays come from: each provider leases machines for slots of a stage (`lease`), and takes them back.

What it offers, and at what price, is the estimate's (`core.estimate.offers`, `core.estimate.lent`).
"""

from collections.abc import Sequence

from lambdas.adapters.world import World
from lambdas.core.fleet.providers import ProviderName
from lambdas.core.fleet.relay_node import Node
from lambdas.operations.fleet.providers import launched, lent
from lambdas.operations.fleet.providers.port import TakesBack

TAKE_BACK: dict[ProviderName, TakesBack] = {"launched": launched.take_back, "lent": lent.take_back}


def give_back(world: World, nodes: Sequence[Node], *, surely: bool = False) -> None:
    """Each machine to its provider; `surely`: not before it is known to be gone, as of one launched a moment ago."""
    for name, take_back in TAKE_BACK.items():
        if mine := [node for node in nodes if node.provider == name]:
            take_back(world, mine, surely=surely)
