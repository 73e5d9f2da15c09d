"""A relay is paid as what it is, whatever the estimate counted on."""

import pytest

from lambdas.core.spending.meter import relay_dollars
from lambdas.core.spending.relay_price import hour_usd
from lambdas.core.tariff.prices import Price, PriceBook, PriceItem
from lambdas.core.tariff.relay_prices import RelayPrice, relay_prices
from tests.lambdas.builders import IRELAND, WEST, estimate, node

HOUR = 3600.0
# Of none of the families of the embedded table.
UNKNOWN = "c5n.18xlarge"


def price(kind: str, on_demand: float, spot: float | None = None, region: str = WEST) -> RelayPrice:
    return RelayPrice(instance_type=kind, region=region, on_demand_usd=on_demand, spot_usd=spot)


def test_another_type_counts_at_the_price_that_the_estimate_has_for_it() -> None:
    known = estimate(1).model_copy(update={"relay_prices": [price(UNKNOWN, 3.9), price(UNKNOWN, 4.4, region=IRELAND)]})
    for stage, dollars in ((0, 3.9), (1, 4.4)):
        one = node(stage, instance_type=UNKNOWN)
        assert relay_dollars([one], 1000.0 + HOUR, known, "on-demand") == pytest.approx(dollars)


def test_spot_that_fell_back_counts_as_on_demand() -> None:
    known = estimate(1).model_copy(update={"relay_prices": [price("t3.small", 0.03, 0.01)]})
    assert relay_dollars([node()], 1000.0 + HOUR, known, "spot") == pytest.approx(0.03)
    # As it was asked for, it counts at the price of the rows.
    assert relay_dollars([node(market="spot")], 1000.0 + HOUR, known, "spot") == pytest.approx(0.1)


def test_relay_without_any_price_counts_at_the_dearest_that_is_allowed() -> None:
    known = estimate(1).model_copy(update={"relay_prices": [price("t3.small", 0.03), price("p5.48xlarge", 98.0)]})
    assert hour_usd("trn9.large", WEST, "on-demand", 0, known, "on-demand") == 98.0


@pytest.mark.parametrize(
    ("kind", "least"), [(UNKNOWN, 3.888), ("c7i.4xlarge", 0.714), ("m7i.large", 0.1008), ("c7i.metal-24xl", 4.284)]
)
def test_relay_without_any_price_counts_as_its_size_in_the_dearest_family(kind: str, least: float) -> None:
    """`least`: what AWS asks for it in us-west-2."""
    for known in (estimate(1), None):
        assert least <= hour_usd(kind, WEST, "on-demand", 0, known, "on-demand") <= 3 * least


def test_the_book_of_an_estimate_has_every_type_in_every_region_and_market() -> None:
    spot = {PriceItem("spot-hour", WEST, "t3.small"): Price(0.005, "spot history", 0.0)}
    found = relay_prices(PriceBook(spot), ["t3.small", "m5.large", "x1.odd"], [WEST, IRELAND], "spot", public=True)
    assert [(one.instance_type, one.region) for one in found] == [
        ("t3.small", WEST), ("m5.large", WEST), ("t3.small", IRELAND), ("m5.large", IRELAND),
    ]  # fmt: skip
    assert found[0].on_demand_usd - found[0].of("spot") == pytest.approx(0.0208 - 0.005, abs=1e-6)
    # Without a spot price on demand is the bound.
    assert found[2].of("spot") == found[2].on_demand_usd
    (plain, *_) = relay_prices(PriceBook(spot), ["t3.small"], [WEST], "on-demand", public=True)
    assert (plain.spot_usd, plain.of("spot")) == (None, plain.on_demand_usd)
