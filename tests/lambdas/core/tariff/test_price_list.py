import json
from typing import Any

import pytest

from lambdas.core.tariff.price_list import PriceListError, has_price_list, only_price, query
from lambdas.core.tariff.prices import PriceItem

SMALL = PriceItem("instance-hour", "us-west-2", "t3.small")
ADDRESS = PriceItem("public-address-hour", "eu-west-1")


def entry(usage: str, *prices: tuple[str, str], more: dict[str, Any] | None = None) -> str:
    dimensions = {
        f"S.T.{i}": {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": usd}}
        for i, (unit, usd) in enumerate(prices)
    }
    terms = {"OnDemand": {"S.T": {"priceDimensions": dimensions}}}
    return json.dumps({"product": {"sku": "S", "attributes": {"usagetype": usage}}, "terms": more or terms})


def read(item: PriceItem, *entries: str) -> float:
    question = query(item)
    assert question is not None
    return only_price(item, question, entries)


def test_only_the_commercial_partition_has_prices_in_dollars() -> None:
    regions = ["us-west-2", "us-gov-west-1", "cn-north-1", "eusc-de-east-1", "eu-central-1"]
    assert [region for region in regions if has_price_list(region)] == ["us-west-2", "eu-central-1"]


def test_the_one_nonzero_price_is_taken() -> None:
    reserved = entry("USW2-BoxUsage:t3.small", more={"Reserved": {"S.R": {"priceDimensions": {}}}})
    free = entry("USW2-Reservation:t3.small", ("Hrs", "0.0000000000"))
    assert read(SMALL, reserved, free, entry("USW2-BoxUsage:t3.small", ("Hrs", "0.0208000000"))) == 0.0208


def test_other_units_and_usage_types_do_not_count() -> None:
    entries = (
        entry("EU-PublicIPv4:IdleAddress", ("Hrs", "0.007")),
        entry("EU-PublicIPv4:InUseAddress", ("Hrs", "0.005"), ("Quantity", "1.0")),
    )
    assert read(ADDRESS, *entries) == 0.005


def test_the_same_price_twice_is_one_price() -> None:
    usage = "EU-PublicIPv4:InUseAddress"
    assert read(ADDRESS, entry(usage, ("Hrs", "0.005")), entry(usage, ("Hrs", "0.0050"))) == 0.005


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ((), "found none"),
        ((entry("USW2-BoxUsage", ("Hrs", "0")),), "found none"),
        ((entry("USW2-BoxUsage", ("Hrs", "0.02")), entry("USW2-BoxUsage", ("Hrs", "0.03"))), r"found 0\.02, 0\.03"),
        (("{",), "cannot be read"),
        ((json.dumps({"product": {}}),), "cannot be read"),
        ((entry("USW2-BoxUsage", ("Hrs", "cheap")),), "cannot be read"),
    ],
)
def test_anything_but_one_price_is_refused_by_name(entries: tuple[str, ...], found: str) -> None:
    with pytest.raises(PriceListError, match=f"instance-hour of t3.small in us-west-2: .*{found}"):
        read(SMALL, *entries)


def test_transfers_are_asked_for_by_region_codes() -> None:
    question = query(PriceItem("egress-gb", "us-west-2", "eu-west-1"))
    assert question is not None
    assert question.service == "AWSDataTransfer"
    assert (question.filters["fromRegionCode"], question.filters["toRegionCode"]) == ("us-west-2", "eu-west-1")


def test_what_is_the_same_everywhere_is_not_asked_for() -> None:
    assert query(PriceItem("cross-zone-gb", "us-west-2")) is None
    assert query(PriceItem("state-transition", "us-west-2")) is None
