"""What the pool costs a transfer, as the figures of its estimate have it."""

from collections.abc import Iterable, Mapping
from math import ceil

from lambdas.core.estimate.figures import EndFigures, Figure
from lambdas.core.pool.price import Gains
from lambdas.core.pool.region_price import PoolPrice, RegionPrice, transfer_price

# A rate of nothing has no price: whoever moves less than this pays as if it were this.
_LEAST_MB_S = 0.1


def quoted(
    regions: Mapping[str, RegionPrice],
    figures: EndFigures,
    pair_mb_s: float,
    most_pairs: int,
    gains: Gains,
    now: float,
) -> PoolPrice:
    """The price of as many pairs as the ends can use, `most_pairs` at most, and one at least.

    `pair_mb_s`: what one carries. More of them would not be launched, so they are no part of what relays of the user's
    own would cost.
    """
    left = max(figures.ends - figures.direct.now, 0.0)
    useful = ceil(left / pair_mb_s) if pair_mb_s else 1
    pairs = max(min(useful, most_pairs), 1)
    rate = min(figures.ends, figures.direct.now + pairs * pair_mb_s)
    return transfer_price(regions, pairs * figures.route.sides, max(rate, _LEAST_MB_S), gains, now)


def with_pool(figures: EndFigures, price: PoolPrice, regions: Iterable[str]) -> EndFigures:
    """The figures with what a GB through a pair costs; `regions`: those of the pair's relays, one for each."""
    note = (
        f"a GB through the pool, {price.use:.0%} of which is leased; as against {price.relays} relays of one's own at "
        f"{price.rate:.4g} MB/s"
    )
    return figures.model_copy(
        update={
            "pool_usd": Figure(value=price.usd_per_gb(regions), origin="configured", note=note),
            "pool_node": Figure(value=price.node_mb_s, origin="published", note="a node of the pool"),
        }
    )
