"""Traffic between zones: every byte between a relay and an end that lies in another zone is charged for."""

from collections.abc import Iterable, Mapping

from lambdas.core.estimate import budget
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet import topology
from lambdas.core.fleet.relay_node import Node
from lambdas.core.tariff import cost
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.transfer import AcceptedTransfer

# AWS charges on the way out of one zone and on the way into the other.
CHARGES = 2


def dollars(size_bytes: float, region: str) -> float:
    """What `size_bytes` from one zone of a region into another cost."""
    return cost.egress(size_bytes, CHARGES * PriceBook().unit("cross-zone-gb", region).usd)


def surcharge(transfer: AcceptedTransfer, size_bytes: float) -> float:
    """The most that relays in other zones than their ends add to a transfer."""
    return sum(dollars(size_bytes, stage.region) for stage in topology.route_of(transfer).stages if stage.end)


def per_gb(transfer: AcceptedTransfer, nodes: Iterable[Node]) -> float:
    """The most that a GB costs between zones with these relays, dollars: as if all went through those elsewhere."""
    route = topology.route_of(transfer)
    stages = {node.stage for node in nodes if route.in_other_zone(node)}
    return sum(dollars(1e9, route.stages[stage].region) for stage in stages)


def above_budget(transfer: AcceptedTransfer, estimate: Estimate) -> str:
    """Why relays may not be in other zones; empty where they may."""
    limit = transfer.request.objective.max_cost_usd
    more = surcharge(transfer, estimate.bytes)
    if limit is None:
        return ""
    row = estimate.row(estimate.chosen_pairs)
    if budget.needed(row, estimate.figures, pre_test=estimate.pre_test) + more <= limit:
        return ""
    return f"traffic between zones may cost ${more:.4f} more, which $.objective.maxCostUsd ({limit:g}) has no room for"


def spent(transfer: AcceptedTransfer, nodes: Iterable[Node], bytes_by_path: Mapping[str, float]) -> float:
    """Dollars for what went between ends and relays of other zones.

    Where one of a slot's relays was in another zone and its successor not, all that went through the slot counts.
    """
    route = topology.route_of(transfer)
    away = {(node.stage, node.slot) for node in nodes if route.in_other_zone(node)}
    return sum(
        dollars(size, stage.region)
        for path, size in bytes_by_path.items()
        for stage in route.stages
        if (stage.index, topology.slot_at(path, stage.index)) in away
    )


def note(transfer: AcceptedTransfer, size_bytes: float) -> str:
    """What an estimate with relays says of it, since it counts on the ends' own zones."""
    price = CHARGES * PriceBook().unit("cross-zone-gb", transfer.source.region).usd
    return (
        f"relays are counted in their ends' own zones; where those have no capacity, others cost ${price:g} per GB "
        f"between end and relay, ${surcharge(transfer, size_bytes):.4f} at most"
    )
