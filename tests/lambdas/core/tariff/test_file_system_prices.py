"""What EFS charges for a GB."""

import pytest

from lambdas.core.tariff.file_system_prices import GbPrices, least, most


@pytest.mark.parametrize(
    ("region", "expected"), [("us-east-1", GbPrices(0.03, 0.06)), ("eu-west-1", GbPrices(0.03, 0.07))]
)
def test_a_region_whose_prices_were_read_has_no_range(region: str, expected: GbPrices) -> None:
    assert least(region) == most(region) == expected


def test_any_other_region_asks_as_little_as_the_cheapest_and_as_much_as_the_dearest() -> None:
    assert least("sa-east-1") == GbPrices(0.03, 0.06)
    assert most("sa-east-1") == pytest.approx(GbPrices(0.0486, 0.1134))
