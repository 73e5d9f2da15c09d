"""What a transfer has sent through the pool, what it pays for that, and its part of the nodes' energy."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.fleet import topology
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.energy import node_seconds
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.tariff import cost


class PoolUse(Document):
    """Contract `report`, `pool`: `price`, as it was when the transfer began; `sent_bytes`: that came through the pool.

    `usd`: repeated bytes included. `node_seconds`: its part of the pool's nodes, as seconds of whole ones.
    """

    price: PoolPrice
    sent_bytes: Count = Field(alias="bytes")
    usd: float = Field(ge=0)
    node_seconds: float = Field(ge=0)


def use_of(
    price: PoolPrice | None, nodes: Iterable[Node], bytes_by_path: Mapping[str, float], metered_usd: float, sent: int
) -> PoolUse | None:
    """None of a transfer that never had a lease. `sent`: bytes of the whole transfer on the wire, repeated ones with
    them: so many for each that arrived are charged on every way.

    `metered_usd`: the meter's figure, as if each byte since the first lease had gone through every stage that had one;
    no more is charged. Where one of a slot's relays was of the pool and its successor not, all that went through the
    slot counts.
    """
    leased = [node for node in nodes if node.provider == "pool"]
    if price is None or not leased:
        return None
    total = sum(bytes_by_path.values())
    arrived = usd = carried = 0.0
    for path, size in bytes_by_path.items():
        regions = {node.stage: node.region for node in leased if topology.leads_through(path, node)}
        arrived += size if regions else 0.0
        usd += cost.egress(size * sent / total, price.usd_per_gb(regions.values())) if total else 0.0
        carried += size * len(regions)
    return PoolUse(
        price=price,
        sent_bytes=round(arrived),
        usd=round(min(usd, metered_usd), 6),
        node_seconds=round(node_seconds(carried / 1e6, price.node_mb_s), 3),
    )
