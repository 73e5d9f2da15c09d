"""Relays that carried data and went out before the end: why, and who took their place."""

from collections.abc import Iterable

from lambdas.core.documents import Document
from lambdas.core.fleet.relay_node import Node


class Replacement(Document):
    """One of them; `at` in Unix time, seconds. Without `successor`, `not_replaced` says why nobody came."""

    node_id: str
    at: float
    cause: str
    successor: str | None = None
    not_replaced: str | None = None


def replacements(nodes: Iterable[Node]) -> list[Replacement]:
    """Return the replacements of a transfer's relays in the order of their ends; the teardown's ends are none."""
    out = [n for n in nodes if n.joined_at is not None and (n.state == "LOST" or n.successor or n.not_replaced)]
    return [
        Replacement(
            node_id=node.node_id,
            at=node.ended_at or 0.0,
            cause=node.reason or "unknown",
            successor=node.successor,
            not_replaced=node.not_replaced,
        )
        for node in sorted(out, key=lambda node: node.ended_at or 0.0)
    ]
