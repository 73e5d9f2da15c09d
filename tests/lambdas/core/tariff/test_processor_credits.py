import pytest

from lambdas.core.estimate import offers
from lambdas.core.spending.meter import relay_dollars
from lambdas.core.tariff.prices import Price, PriceBook, PriceItem
from lambdas.core.tariff.processor_credits import most_surplus_hour
from tests.lambdas.builders import node
from tests.lambdas.core.estimate.test_offers import terms

REGIONS = ("us-west-2", "eu-west-1")


@pytest.mark.parametrize(
    ("kind", "dollars"),
    [
        # What is not covered of each vCPU, by the credits per hour that AWS's table gives: (vCPUs - credits / 60).
        ("t3.nano", (2 - 6 / 60) * 0.05),
        ("t3.small", (2 - 24 / 60) * 0.05),
        ("t3a.large", (2 - 36 / 60) * 0.05),
        ("t3.xlarge", (4 - 96 / 60) * 0.05),
        ("t3.2xlarge", (8 - 192 / 60) * 0.05),
        ("t4g.small", (2 - 24 / 60) * 0.04),
        ("t2.xlarge", (4 - 54 / 60) * 0.05),
        ("t2.2xlarge", (8 - 81.6 / 60) * 0.05),
        ("t9z.huge", 8 * 0.05),
        ("c6in.large", 0.0),
        ("trn1.2xlarge", 0.0),
    ],
)
def test_the_most_that_busy_processors_cost_beyond_the_price(kind: str, dollars: float) -> None:
    assert most_surplus_hour(kind) == pytest.approx(dollars)


def test_spot_pays_for_credits_too() -> None:
    price = Price(0.006, "spot history", 0)
    spot = PriceBook({PriceItem("spot-hour", region, "t3.small"): price for region in REGIONS})
    hour = offers.offer(terms(market="spot", prices=spot), "t3.small", None).hour
    assert hour.value == pytest.approx(0.006 + (2 - 24 / 60) * 0.05 + 0.005 + 8 * 0.084 / 730)


def test_meter_and_estimate_count_the_same_hour() -> None:
    """A relay that the estimate did not price: the meter's own sum, beside the estimate of that type."""
    hour = offers.offer(terms(), "t3.small", None).hour
    pair = [node("source", instance_type="t3.small"), node("destination", instance_type="t3.small")]
    alone = relay_dollars(pair, 3600.0 + pair[0].requested_at, None, "on-demand")
    assert alone / 2 == pytest.approx(hour.value)
    assert "processor credits" in hour.note
