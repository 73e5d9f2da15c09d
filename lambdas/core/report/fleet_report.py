"""The fate of the relays: how many came, from where, how fast, and why not more or not the first choice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import route_at
from lambdas.core.record.transfer_record import Spawned
from lambdas.core.transfer.accepted import AcceptedTransfer


class Start(Document):
    """T_v of one relay, seconds: from the request until the instance runs, its agent answers, its daemon serves.

    What was not reached is absent.
    """

    node_id: str
    launch: float | None = Field(default=None, ge=0)
    agent: float | None = Field(default=None, ge=0)
    daemon: float | None = Field(default=None, ge=0)


class FleetReport(Document):
    """Contract `report`, `fleet`: pairs wanted and launched, relays by market and outside their end's zone.

    `existing`: machines of the user, which are of no market here.
    """

    wanted: Count
    launched: Count
    on_demand: Count
    spot: Count
    existing: Count
    other_zones: Count
    notes: list[str]
    starts: list[Start]


def build(transfer: AcceptedTransfer, spawned: Spawned | None, nodes: Iterable[Node]) -> FleetReport | None:
    """None where no relay was wanted; successors of lost relays count among the relays."""
    if spawned is None:
        return None
    relays = list(nodes)
    ours = [node for node in relays if node.is_ours]
    return FleetReport(
        wanted=spawned.wanted,
        launched=spawned.launched,
        on_demand=sum(node.market == "on-demand" for node in ours),
        spot=sum(node.market == "spot" for node in ours),
        existing=len(relays) - len(ours),
        other_zones=sum(route_at(transfer, node.stage).in_other_zone(node) for node in relays),
        # Where none were launched in the end, the notes say why, also of those that were given back at once.
        notes=[*spawned.notes, *(_never_joined(relays) if spawned.launched else ())],
        starts=[start_of(node) for node in relays],
    )


def _never_joined(relays: Iterable[Node]) -> Iterator[str]:
    """Of relays that have ended and carried nothing: how far they came, and why they did not go on."""
    found = defaultdict[tuple[str, str, str], list[str]](list)
    for node in relays:
        if node.joined_at is None and node.state in ("LOST", "TERMINATED"):
            found[node.region, _reached(node), node.reason or ""].append(node.node_id)
    for (region, reached, reason), names in found.items():
        yield f"in {region} {', '.join(names)} carried nothing: {reached}" + (f"; {reason}" if reason else "")


def _reached(node: Node) -> str:
    if node.ready_at is not None:
        return "ready, and not joined before it was ended"
    if node.online_at is not None:
        return "its daemon did not serve"
    return "its SSM agent did not answer" if node.running_at is not None else "EC2 did not say that it runs"


def start_of(node: Node) -> Start:
    """The parts of T_v, as far as the relay came."""
    return Start(
        node_id=node.node_id,
        launch=_between(node.requested_at, node.running_at),
        agent=_between(node.running_at, node.online_at),
        daemon=_between(node.online_at, node.ready_at),
    )


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(max(end - start, 0.0), 3)
