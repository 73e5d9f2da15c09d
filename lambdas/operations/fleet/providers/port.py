"""The port of a provider of relays."""

from collections.abc import Sequence
from typing import Protocol

from lambdas.adapters.world import World
from lambdas.core.fleet.relay_node import Node


class TakesBack(Protocol):
    """How a provider takes machines back whose relays have ended."""

    def __call__(self, world: World, nodes: Sequence[Node], *, surely: bool) -> None:
        """`surely`: return when they are known to be gone, or after a minute."""
