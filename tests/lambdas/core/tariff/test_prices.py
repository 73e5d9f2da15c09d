import pytest

from lambdas.core.errors import AskPerson, MissingPrice
from lambdas.core.tariff import fallback_prices
from lambdas.core.tariff.prices import Price, PriceBook, PriceItem, needed

WEST, IRELAND = "us-west-2", "eu-west-1"
NOW = fallback_prices.AS_OF + 30 * 86_400


def listed(usd: float, as_of: float = NOW) -> Price:
    return Price(usd, "price list", as_of)


def test_without_the_price_list_the_dated_table_answers_and_says_so() -> None:
    book = PriceBook()
    price = book.instance_hour("t3.small", WEST)
    assert price.usd == pytest.approx(0.0208)
    assert (price.origin, price.age_days(NOW)) == ("fallback", 30)
    assert book.egress_gb(WEST, IRELAND).usd == 0.02
    assert book.unit("public-address-hour", IRELAND).usd == 0.005
    items = needed(["t3.small"], WEST, IRELAND)
    assert book.from_fallback(items) == items


@pytest.mark.parametrize(
    ("kind", "west", "ireland"),
    [
        ("t3.micro", 0.0104, 0.0114),
        ("t4g.medium", 0.0336, 0.0368),
        ("m5.large", 0.096, 0.107),
        ("m6in.xlarge", 0.27846, 0.31122),
        ("m7g.medium", 0.0408, 0.0455),
        ("c6gn.xlarge", 0.1728, 0.1952),
        ("c7gn.medium", 0.0624, 0.0705),
        ("c7gn.4xlarge", 0.9984, 1.128),
    ],
)
def test_the_table_has_every_size_of_its_families(kind: str, west: float, ireland: float) -> None:
    prices = [PriceBook().instance_hour(kind, region).usd for region in (WEST, IRELAND)]
    assert prices == pytest.approx([west, ireland])


def test_in_a_region_that_the_table_does_not_have_it_promises_too_little_never() -> None:
    book, tokyo = PriceBook(), "ap-northeast-1"
    assert book.instance_hour("t3.small", tokyo).usd > book.instance_hour("t3.small", IRELAND).usd
    assert book.egress_gb(tokyo, WEST).usd > 0.09
    assert book.unit("disk-gb-month", tokyo).usd > 0.096


def test_what_aws_said_wins_price_by_price() -> None:
    small = PriceItem("instance-hour", WEST, "t3.small")
    book = PriceBook({small: listed(0.03)})
    assert book.instance_hour("t3.small", WEST) == listed(0.03)
    assert book.instance_hour("t3.small", IRELAND).origin == "fallback"
    items = needed(["t3.small"], WEST, IRELAND)
    assert set(items) - set(book.from_fallback(items)) == {small}


def test_spot_is_its_history_and_without_one_the_price_on_demand() -> None:
    spot = Price(0.04, "spot history", NOW)
    book = PriceBook({PriceItem("spot-hour", WEST, "m5.large"): spot})
    assert book.instance_hour("m5.large", WEST, "spot") == spot
    assert book.instance_hour("m5.large", WEST).usd == 0.096
    assert book.instance_hour("m5.large", IRELAND, "spot").usd == 0.107


@pytest.mark.parametrize("kind", ["z9.huge", "m5.huge", "m5", "m5.0.5xlarge"])
def test_a_type_without_any_price_can_be_left_out_or_refused(kind: str) -> None:
    book = PriceBook(problems=("pricing:GetProducts: timed out",))
    assert book.find_instance_hour(kind, WEST) is None
    assert book.from_fallback([PriceItem("instance-hour", WEST, kind)]) == []
    with pytest.raises(MissingPrice, match=rf"{kind} in us-west-2 .*timed out.*\$\.relays\.instanceTypes") as error:
        book.instance_hour(kind, WEST)
    assert isinstance(error.value, AskPerson)


def test_a_type_that_only_aws_prices_has_a_price() -> None:
    book = PriceBook({PriceItem("instance-hour", WEST, "z9.huge"): listed(9.0)})
    assert book.instance_hour("z9.huge", WEST).usd == 9.0


def test_traffic_within_a_region_costs_nothing_and_is_not_asked_for() -> None:
    assert PriceBook().egress_gb(WEST, WEST).usd == 0
    assert not any(item.what == "egress-gb" for item in needed(["t3.small"], WEST, WEST))
    assert len(needed(["t3.small"], WEST, WEST)) == 3


def test_control_plane_has_unit_prices() -> None:
    book = PriceBook()
    assert book.unit("state-transition", WEST).usd == pytest.approx(25e-6)
    assert book.unit("table-write", WEST).usd == pytest.approx(0.625e-6)
    with pytest.raises(ValueError, match="instance_hour"):
        book.unit("spot-hour", WEST)


def test_items_read_as_words() -> None:
    assert str(PriceItem("egress-gb", WEST, IRELAND)) == "egress-gb to eu-west-1 in us-west-2"
    assert str(PriceItem("instance-hour", WEST, "t3.small")) == "instance-hour of t3.small in us-west-2"
    assert str(PriceItem("disk-gb-month", WEST)) == "disk-gb-month in us-west-2"
