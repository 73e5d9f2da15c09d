"""What a transfer has sent through the pool, what it pays for that, and its part of the nodes' energy."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.fleet import topology
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.energy import node_seconds
from lambdas.core.pool.region_price import PoolPrice


class PoolUse(Document):
    """Contract `report`, `pool`: `price`, as it was when the transfer began; `sent_bytes`: that came through the pool.

    `usd`: repeated bytes included. `node_seconds`: its part of the pool's nodes, as seconds of whole ones.
    """

    price: PoolPrice
    sent_bytes: Count = Field(alias="bytes")
    usd: float = Field(ge=0)
    node_seconds: float = Field(ge=0)


def use_of(
    price: PoolPrice | None, nodes: Iterable[Node], bytes_by_path: Mapping[str, float], metered_usd: float
) -> PoolUse | None:
    """None of a transfer that never had a lease.

    `metered_usd`: the meter's figure, as if each byte had gone through every stage that had one. Of that the part is
    due that really did. Where one of a slot's relays was of the pool and its successor not, all that went through the
    slot counts.
    """
    leased = [node for node in nodes if node.provider == "pool"]
    if price is None or not leased:
        return None
    most = price.usd_per_gb({node.stage: node.region for node in leased}.values())
    total = sum(bytes_by_path.values())
    sent = due = carried = 0.0
    for path, size in bytes_by_path.items():
        regions = {node.stage: node.region for node in leased if topology.leads_through(path, node)}
        sent += size if regions else 0.0
        due += size * price.usd_per_gb(regions.values())
        carried += size * len(regions)
    share = due / (most * total) if most and total else 0.0
    return PoolUse(
        price=price,
        sent_bytes=round(sent),
        usd=round(metered_usd * share, 6),
        node_seconds=round(node_seconds(carried / 1e6, price.node_mb_s), 3),
    )
