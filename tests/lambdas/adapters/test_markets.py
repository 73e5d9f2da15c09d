"""Prices, spot, instance types and quotas: what each answer of AWS means. tests/local runs the same adapters."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from lambdas.adapters.instance_types import Ec2InstanceTypes
from lambdas.adapters.pricing import AwsPriceList
from lambdas.adapters.quotas import ServiceQuotas
from lambdas.adapters.spot import Ec2SpotMarket
from lambdas.core.tariff.prices import Price, PriceItem
from tests.lambdas.adapters.test_services import stub
from tests.lambdas.memory.market import MemoryPriceCache

ADDRESS = PriceItem("public-address-hour", "us-west-2")


class Pricing:
    """A pricing client whose GetProducts does what it is told."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get_paginator(self, _operation: str) -> "Pricing":
        return self

    def paginate(self, **_request: Any) -> Iterator[dict[str, Any]]:
        yield self._answer()


@contextmanager
def silent() -> Iterator[Pricing]:
    answered = Event()
    try:
        yield Pricing(lambda: answered.wait(30) or {"PriceList": []})
    finally:
        answered.set()


def test_a_price_list_that_does_not_answer_in_time_has_no_prices() -> None:
    with silent() as client:
        answers = AwsPriceList(client, most_seconds=0.05).ask([ADDRESS])  # type: ignore[arg-type]
    assert answers.dollars == {}
    assert answers.problems == ("public-address-hour in us-west-2: no answer within 0.05 s",)


def test_a_price_list_that_cannot_be_reached_or_refuses_has_no_prices() -> None:
    def timed_out() -> Any:
        raise ReadTimeoutError(endpoint_url="pricing")

    def throttled() -> Any:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "GetProducts")

    for answer, words in ((timed_out, "Read timeout"), (throttled, "slow down")):
        (problem,) = AwsPriceList(Pricing(answer)).ask([ADDRESS]).problems  # type: ignore[arg-type]
        assert problem.startswith("public-address-hour in us-west-2: pricing:GetProducts: ")
        assert words in problem


def test_what_the_price_list_is_not_asked_for_is_no_problem() -> None:
    def fail() -> Any:
        raise AssertionError

    answers = AwsPriceList(Pricing(fail)).ask([PriceItem("event", "us-west-2")])  # type: ignore[arg-type]
    assert (answers.dollars, answers.problems) == ({}, ())


def test_the_latest_spot_price_counts() -> None:
    client, stubber = stub("ec2")
    history = [
        {"InstanceType": kind, "SpotPrice": usd, "Timestamp": datetime(2026, 11, day, tzinfo=UTC)}
        for kind, usd, day in (("m5.large", "0.03", 2), ("m5.large", "0.05", 3), ("m5.large", "0.04", 1))
    ]
    stubber.add_response("describe_spot_price_history", {"SpotPriceHistory": history})
    market = Ec2SpotMarket(client, stub("iam")[0])
    found = market.latest(["m5.large", "t3.small"], "us-west-2a")
    assert found == {"m5.large": Price(0.05, "spot history", datetime(2026, 11, 3, tzinfo=UTC).timestamp())}
    assert market.latest([], "us-west-2a") == {}


CARDS = [
    {"NetworkCardIndex": 0, "BaselineBandwidthInGbps": 100.0, "PeakBandwidthInGbps": 100.0},
    {"NetworkCardIndex": 1, "BaselineBandwidthInGbps": 99.0, "PeakBandwidthInGbps": 100.0},
]


def described(**network: Any) -> dict[str, Any]:
    return {
        "InstanceType": "c6in.32xlarge",
        "VCpuInfo": {"DefaultVCpus": 128},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "BurstablePerformanceSupported": False,
        "NetworkInfo": network,
    }


@pytest.mark.parametrize(("default", "baseline"), [(0, 100.0), (1, 99.0)])
def test_only_the_default_card_counts(default: int, baseline: float) -> None:
    client, stubber = stub("ec2")
    stubber.add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": []})
    item = described(NetworkCards=CARDS, DefaultNetworkCardIndex=default)
    stubber.add_response("describe_instance_types", {"InstanceTypes": [item]})
    facts = Ec2InstanceTypes(client).facts(["c6in.32xlarge"])["c6in.32xlarge"]
    assert (facts.baseline_gbps, facts.disk, facts.zones) == (baseline, 0.0, frozenset())


@pytest.mark.parametrize(("given", "takes"), [(None, False), (["default"], False), (["default", "vpc-1"], True)])
def test_a_type_may_give_its_network_more_where_ec2_says_so(given: list[str] | None, takes: bool) -> None:
    client, stubber = stub("ec2")
    stubber.add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": []})
    item = described(NetworkCards=CARDS, **({"BandwidthWeightings": given} if given else {}))
    stubber.add_response("describe_instance_types", {"InstanceTypes": [item]})
    facts = Ec2InstanceTypes(client).facts(["c6in.32xlarge"])["c6in.32xlarge"]
    assert (facts.takes_weighting, facts.is_weighted) == (takes, False)


def test_a_type_without_a_published_baseline_is_not_known() -> None:
    client, stubber = stub("ec2")
    stubber.add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": []})
    item = described(NetworkCards=[{"NetworkCardIndex": 0}])
    stubber.add_response("describe_instance_types", {"InstanceTypes": [item]})
    assert Ec2InstanceTypes(client).facts(["c6in.32xlarge"]) == {}
    assert Ec2InstanceTypes(client).facts([]) == {}


def test_a_throttled_question_about_types_or_spot_is_asked_again_by_the_state_machine() -> None:
    client, stubber = stub("ec2")
    for operation in ("describe_instance_type_offerings", "describe_spot_price_history"):
        stubber.add_client_error(operation, "RequestLimitExceeded")
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        Ec2InstanceTypes(client).facts(["t3.small"])
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        Ec2SpotMarket(client, stub("iam")[0]).latest(["t3.small"], "us-west-2a")


@pytest.mark.parametrize(("code", "found"), [("NoSuchEntity", False), ("AccessDenied", True), ("Throttling", True)])
def test_a_role_for_spot_that_cannot_be_looked_for_may_be_there(code: str, found: bool) -> None:
    iam, stubber = stub("iam")
    stubber.add_client_error("get_role", code, expected_params={"RoleName": "AWSServiceRoleForEC2Spot"})
    assert Ec2SpotMarket(stub("ec2")[0], iam).has_role() is found


@pytest.mark.parametrize("code", ["AccessDeniedException", "NoSuchResourceException", "TooManyRequestsException"])
def test_a_quota_that_cannot_be_read_is_not_known(code: str) -> None:
    client, stubber = stub("service-quotas")
    stubber.add_client_error("get_service_quota", code)
    assert ServiceQuotas(client).vcpus("on-demand") is None


def test_the_quota_of_the_market_is_read() -> None:
    client, stubber = stub("service-quotas")
    expected = {"ServiceCode": "ec2", "QuotaCode": "L-34B43A08"}
    stubber.add_response("get_service_quota", {"Quota": {"Value": 64.0}}, expected)
    assert ServiceQuotas(client).vcpus("spot") == 64


def test_the_cache_in_memory_keeps_its_own_copy() -> None:
    cache, prices = MemoryPriceCache(), {ADDRESS: Price(0.005, "price list", 1.0)}
    cache.write(prices)
    prices.clear()
    cache.read().clear()
    assert cache.read() == {ADDRESS: Price(0.005, "price list", 1.0)}
