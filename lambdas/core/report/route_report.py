"""Where the bytes went: the direct path, pairs, and each route through third regions, with what its borders cost."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from lambdas.core.documents import Count, Document, Region, StageIndex
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import route_at, routes_of, slot_at
from lambdas.core.transfer.accepted import AcceptedTransfer


class RouteShare(Document):
    """Contract `report`, `routes`: one way from end to end. `stage`: index of its first stage; absent: the direct path.

    `relays`: those that joined. `egress_usd`: for what was sent that way, repeated bytes included.
    """

    stage: StageIndex | None = None
    regions: list[Region] = Field(min_length=1)
    relays: Count
    bytes: Count
    share: float = Field(ge=0, le=1)
    egress_usd: float = Field(ge=0)

    @property
    def words(self) -> str:
        """`us-west-2 → eu-central-1 → eu-west-1`, or `direct`."""
        return "direct" if self.stage is None else " → ".join(self.regions)


def routes(
    transfer: AcceptedTransfer,
    estimate: Estimate | None,
    nodes: Iterable[Node],
    bytes_by_path: Mapping[str, float],
    egress_usd: float,
) -> list[RouteShare]:
    """The ways that had relays, the direct path first; none where the request allows no third region.

    `egress_usd`: the meter's figure, which counts each byte as if it had taken the dearest way.
    """
    if estimate is None or not transfer.transit:
        return []
    relays = list(nodes)
    sizes = {route.first: 0.0 for route in routes_of(transfer) if route.own(relays)}
    direct = 0.0
    for path, size in bytes_by_path.items():
        first = next((first for first in sizes if slot_at(path, first) is not None), None)
        if first is None:
            direct += size
        else:
            sizes[first] += size
    total = direct + sum(sizes.values())
    share = _due(estimate, relays, egress_usd, total)
    ends = list(dict.fromkeys((transfer.source_region, transfer.destination_region)))
    leaving = estimate.figures.leaving_gb_usd
    found = [_share(None, ends, 0, direct, total, share * direct * leaving)]
    for first, size in sizes.items():
        route = route_at(transfer, first)
        joined = sum(node.joined_at is not None for node in route.own(relays))
        regions = [stage.region for stage in route.stages]
        found.append(_share(first, regions, joined, size, total, share * size * estimate.gb_usd_of(first)))
    return found


def egress(found: list[RouteShare], metered_usd: float) -> float:
    """Dollars for all that was sent; what the meter says where there is one way for all."""
    return sum(one.egress_usd for one in found) if found and any(one.bytes for one in found) else metered_usd


def _due(estimate: Estimate, nodes: list[Node], egress_usd: float, total: float) -> float:
    """Bytes sent for each that arrived, in dollars of the meter: so many for each byte and dollar per GB."""
    dearest = max([estimate.figures.leaving_gb_usd, *(estimate.gb_usd_of(node.stage) for node in nodes)])
    return egress_usd / (total * dearest) if total and dearest else 0.0


def _share(stage: int | None, regions: list[str], relays: int, size: float, total: float, usd: float) -> RouteShare:
    return RouteShare(
        stage=stage,
        regions=regions,
        relays=relays,
        bytes=round(size),
        share=round(size / total, 4) if total else 0.0,
        egress_usd=round(usd, 6),
    )
