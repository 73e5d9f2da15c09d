"""What a region's pool costs now, and what a transfer pays for it, fixed at its start.

TaaS's service has relays at both ends. Here a pool may stand in one region and not in the other, so each relay on a
byte's way costs half of the service, at its own region's price of a machine.
"""

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document, Region
from lambdas.core.pool.pool_node import LIVE, OPEN, PoolNode
from lambdas.core.pool.price import Gains, price_range, usd_per_gb

HOUR_SECONDS = 3600.0
# Relays on the way through the service in Equation 1: one at each end.
_SIDES = 2
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class RegionPrice(Document):
    """What the last look at a region's pool found: `use` of its leases, and what an hour of a node costs.

    `node_mb_s`: what one node forwards.
    """

    region: Region
    at: float
    use: Share
    vm_usd_per_hour: NonNegative
    node_mb_s: Annotated[float, Field(gt=0)] = Field(alias="nodeMBps")


class PoolPrice(Document):
    """Attribute `poolPrice` of a transfer's record, and of its report: what the pool costs it, whatever comes.

    `sides`: dollars per GB (10^9 bytes) through a relay in each region. `use`: of the fullest of these pools at `at`.
    `relays`: so many would the transfer launch (N in Equation 1). `rate`: at which it is expected to go with them.
    """

    at: float
    sides: dict[Region, NonNegative] = Field(min_length=1)
    use: Share
    relays: Annotated[Count, Field(ge=1)]
    rate: Annotated[float, Field(gt=0)] = Field(alias="rateMBps")
    node_mb_s: Annotated[float, Field(gt=0)] = Field(alias="nodeMBps")
    a: Annotated[float, Field(gt=0)]
    c: Annotated[float, Field(gt=0)]
    is_overdue: Annotated[bool, Field(exclude_if=lambda late: not late)] = Field(default=False, alias="overdue")
    """It began at its latest time, at a higher price than it had asked for."""

    def usd_per_gb(self, regions: Iterable[str]) -> float:
        """Dollars per GB on a way with a relay of the pool in each of these; a region may be among them twice."""
        return fsum(self.sides.get(region, 0.0) for region in regions)


def region_price(
    region: str, nodes: Iterable[PoolNode], leases_per_node: int, vm_usd_per_hour: float, now: float
) -> RegionPrice | None:
    """The price by what its nodes have to give; None where nobody knows yet what a node forwards.

    A pool without a node to lease from is as good as full.
    """
    every = list(nodes)
    open_nodes = [node for node in every if node.state in OPEN]
    there = len(open_nodes) * leases_per_node
    use = min(sum(node.leases for node in open_nodes) / there, 1.0) if there else 1.0
    rates = [node.capacity_mb_s for node in open_nodes or every if node.state in LIVE and node.capacity_mb_s > 0]
    if not rates:
        return None
    return RegionPrice(region=region, at=now, use=use, vm_usd_per_hour=vm_usd_per_hour, node_mb_s=min(rates))


def transfer_price(
    regions: Mapping[str, RegionPrice], relays: int, rate_mb_s: float, gains: Gains, now: float
) -> PoolPrice:
    """What a transfer pays that would launch `relays` and go at `rate_mb_s`; `regions`: where it may have leases.

    All sides have the use of the fullest: a pair is as scarce as the scarcer of its relays.
    """
    use = max(one.use for one in regions.values())
    sides = {}
    for name, one in regions.items():
        service = price_range(one.vm_usd_per_hour / HOUR_SECONDS, relays, gains).at(use)
        sides[name] = usd_per_gb(service / _SIDES, rate_mb_s)
    return PoolPrice(
        at=now,
        sides=sides,
        use=use,
        relays=relays,
        rate=rate_mb_s,
        node_mb_s=min(one.node_mb_s for one in regions.values()),
        a=gains.a,
        c=gains.c,
    )
