"""The price of a relay as it was launched, which may be another one than the estimate counted on; dollars per hour."""

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.tariff import fallback_prices
from lambdas.core.tariff.prices import Market, PriceBook


def hour_usd(
    instance_type: str, region: str, market: Market, stage: int, estimate: Estimate | None, asked: Market
) -> float:
    """Dollars for an hour of one relay of a stage; `asked`: the market that the request names.

    As the estimate counts on it; where it is of another type or market, at the price that the estimate has for that,
    or by the embedded table. One without any price counts at the dearest that is allowed, or at the dearest family's
    price for its size.
    """
    if estimate and (instance_type, market) == (estimate.type_of(stage), asked):
        return estimate.hour_usd(stage)
    listed = (estimate.relay_prices if estimate else None) or []
    for price in listed:
        if (price.instance_type, price.region) == (instance_type, region):
            return price.of(market)
    book = PriceBook()
    beside = book.beside_instance_hour(instance_type, region, public=True)
    if known := book.find_instance_hour(instance_type, region):
        return known.usd + beside
    allowed = [price.on_demand_usd for price in listed]
    counted_on = [estimate.hour_usd(stage)] if estimate else []
    return max([*allowed, *counted_on, fallback_prices.dearest_hour(instance_type, region) + beside])
