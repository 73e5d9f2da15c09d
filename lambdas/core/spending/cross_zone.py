"""Traffic between zones: every byte between a relay and an end that lies in another zone is charged for."""

from collections.abc import Iterable, Mapping

from lambdas.core.estimate import budget
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet import pairing
from lambdas.core.fleet.relay_node import ROLES, Node
from lambdas.core.tariff import cost
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.transfer import AcceptedTransfer

# AWS charges on the way out of one zone and on the way into the other.
CHARGES = 2


def dollars(size_bytes: float, region: str) -> float:
    """What `size_bytes` from one zone of a region into another cost."""
    return cost.egress(size_bytes, CHARGES * PriceBook().unit("cross-zone-gb", region).usd)


def surcharge(transfer: AcceptedTransfer, size_bytes: float) -> float:
    """The most that relays in other zones than their ends, on both sides, add to a transfer."""
    return sum(dollars(size_bytes, transfer.end(role).region) for role in ROLES)


def per_gb(transfer: AcceptedTransfer, nodes: Iterable[Node]) -> float:
    """The most that a GB costs between zones with these relays, dollars: as if all went through those elsewhere."""
    sides = {node.role for node in nodes if pairing.in_other_zone(transfer, node)}
    return sum(dollars(1e9, transfer.end(role).region) for role in sides)


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
    away = {(node.role, node.slot) for node in nodes if pairing.in_other_zone(transfer, node)}
    return sum(
        dollars(size, transfer.end(role).region)
        for path, size in bytes_by_path.items()
        for role, slot in pairing.slots(path).items()
        if (role, slot) in away
    )


def note(transfer: AcceptedTransfer, size_bytes: float) -> str:
    """What an estimate with relays says of it, since it counts on the ends' own zones."""
    price = CHARGES * PriceBook().unit("cross-zone-gb", transfer.source.region).usd
    return (
        f"relays are counted in their ends' own zones; where those have no capacity, others cost ${price:g} per GB "
        f"between end and relay, ${surcharge(transfer, size_bytes):.4f} at most"
    )
