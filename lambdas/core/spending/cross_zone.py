"""Traffic between zones of one region: AWS charges it on every hop whose two machines are in different ones."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

from lambdas.core.estimate import budget
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure
from lambdas.core.fleet import topology
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Route
from lambdas.core.places.machines import ExistingRelay
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.transfer.accepted import AcceptedTransfer

_Place = TypeVar("_Place")
# AWS charges on the way out of one zone and on the way into the other.
CHARGES = 2


def hop_gb(region: str) -> float:
    """Dollars per GB (10^9 bytes) that goes from one zone of a region into another."""
    return CHARGES * PriceBook().unit("cross-zone-gb", region).usd


def direct_gb(transfer: AcceptedTransfer) -> float:
    """Dollars per GB on the direct path: nothing between regions, or within one zone, or from a machine to itself."""
    return 0.0 if transfer.on_one_machine else way_gb(transfer, topology.route_of(transfer), {})


def per_gb(transfer: AcceptedTransfer, relays: Iterable[Node | ExistingRelay]) -> float:
    """The most that a GB costs between zones with these relays, dollars: as if all went through those elsewhere."""
    zones: dict[int, set[str]] = {}
    for relay in relays:
        zones.setdefault(relay.stage, set()).add(relay.availability_zone)
    pairs, *others = topology.routes_of(transfer)
    used = [route for route in others if zones.keys() & set(route.indices)]
    return max(way_gb(transfer, route, zones) for route in (pairs, *used))


def figures(transfer: AcceptedTransfer) -> tuple[Figure | None, Figure | None]:
    """Per GB: of the direct path, and of relays where machines of the user stand elsewhere; None for nothing more."""
    direct, relayed = direct_gb(transfer), per_gb(transfer, transfer.existing)
    zones = " to ".join("/".join(sorted(side)) for side in _zones(transfer))
    return (
        Figure(value=direct, origin="published", note=f"per GB from {zones}, out and in") if direct else None,
        Figure(value=relayed, origin="published", note="per GB, as if all went through the existing relays elsewhere")
        if relayed > direct
        else None,
    )


def surcharge(transfer: AcceptedTransfer, size_bytes: float) -> float:
    """The most that relays in other zones than their ends add to a transfer."""
    places = _beside_relays(transfer, topology.routes_of(transfer)[0].places)
    most = sum(hop_gb(before.region) for before, after in pairwise(places) if before.region == after.region)
    return size_bytes / 1e9 * (most - direct_gb(transfer))


def above_budget(transfer: AcceptedTransfer, estimate: Estimate) -> str:
    """Why relays may not be in other zones; empty where they may."""
    limit = transfer.request.objective.max_cost_usd
    more = surcharge(transfer, estimate.bytes)
    if limit is None:
        return ""
    row = estimate.row(estimate.chosen_pairs)
    if budget.needed(row, estimate.figures) + more <= limit:
        return ""
    return f"traffic between zones may cost ${more:.4f} more, which $.objective.maxCostUsd ({limit:g}) has no room for"


def share(transfer: AcceptedTransfer, nodes: Iterable[Node], bytes_by_path: Mapping[str, float]) -> float:
    """How much of what the meter counts (`per_gb`) is due, by the paths that bytes took; all where none is known.

    Where one of a slot's relays was in another zone and its successor not, all that went through the slot counts.
    """
    nodes, routes = list(nodes), topology.routes_of(transfer)
    most = sum(bytes_by_path.values()) * per_gb(transfer, nodes)
    due = 0.0
    for path, size in bytes_by_path.items():
        zones: dict[int, set[str]] = {}
        for node in nodes:
            if topology.leads_through(path, node):
                zones.setdefault(node.stage, set()).add(node.availability_zone)
        route = next((route for route in routes if zones.keys() & set(route.indices)), routes[0])
        due += size * way_gb(transfer, route, zones)
    return due / most if most else 1.0


def note(transfer: AcceptedTransfer, size_bytes: float) -> str:
    """What an estimate with relays says of it, since it counts on the ends' own zones."""
    return (
        f"relays are counted in their ends' own zones; where those have no capacity, others cost "
        f"${hop_gb(transfer.at_source.region):g} per GB between end and relay, "
        f"${surcharge(transfer, size_bytes):.4f} at most"
    )


def _zones(transfer: AcceptedTransfer) -> tuple[set[str], set[str]]:
    """Those of the machines at both ends: what goes between two of which one is elsewhere counts as if all did."""
    source, destination = (
        {seat.machine.availability_zone for seat in seats} for seats in (transfer.senders, transfer.receivers)
    )
    return source, destination


def _beside_relays(transfer: AcceptedTransfer, places: list[_Place]) -> list[_Place]:
    """The places of a way between which AWS may charge for zones: S3 is in none, so no hop leads there or comes from
    it.

    Of two machines all. Without relays there is only the hop between the machines at both ends.
    """
    sides = transfer.request.machine_sides
    if len(sides) != 1 or len(places) <= len(("source", "destination")):
        return places
    return places[:-1] if sides == [0] else places[1:]


def way_gb(transfer: AcceptedTransfer, route: Route, zones: Mapping[int, set[str]]) -> float:
    """Dollars per GB through relays in these zones, by stage; a stage of which none is known has its end's zone."""
    beside = _zones(transfer)
    every = [
        (route.source.region, {route.source.availability_zone, *beside[0]}),
        *((stage.region, zones.get(stage.index) or {stage.zone}) for stage in route.stages if stage.end),
        (route.destination.region, {route.destination.availability_zone, *beside[1]}),
    ]
    return sum(
        hop_gb(region)
        for (region, here), (there, next_zones) in pairwise(_beside_relays(transfer, every))
        if region == there and len(here | next_zones) > 1
    )
