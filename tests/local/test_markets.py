"""Prices, instance types and quotas: the very adapters of the Lambdas against the local cloud."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.ec2 import Ec2Compute
from lambdas.adapters.instance_types import Ec2InstanceTypes
from lambdas.adapters.price_cache import S3PriceCache
from lambdas.adapters.pricing import AwsPriceList
from lambdas.adapters.quotas import ServiceQuotas
from lambdas.adapters.spot import Ec2SpotMarket
from lambdas.core.tariff.prices import Price, PriceItem, needed
from local.cloud import LocalCloud
from tests.local.assembly import HOME, OTHER


@pytest.fixture
def stranger(cloud: LocalCloud) -> Any:
    """Makes clients of a role that may do nothing."""
    iam = cloud.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = iam.create_role(RoleName="stranger-to-markets", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    keys = cloud.client("sts").assume_role(RoleArn=role, RoleSessionName="probe")["Credentials"]
    session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], HOME)
    make: Any = session.client
    yield lambda service: make(service, endpoint_url=cloud.endpoint)
    iam.delete_role(RoleName="stranger-to-markets")


def test_all_that_an_estimate_needs_is_in_the_price_list(cloud: LocalCloud) -> None:
    items = needed(["t3.small", "c7gn.medium", "m6in.xlarge", "c6in.large"], HOME, OTHER)
    answers = AwsPriceList(cloud.client("pricing")).ask(items)
    assert answers.problems == ()
    assert set(answers.dollars) == set(items)
    assert answers.dollars[PriceItem("instance-hour", OTHER, "t3.small")] == 0.0228
    assert answers.dollars[PriceItem("egress-gb", HOME, OTHER)] == 0.02


def test_what_the_price_list_has_not_is_said_item_by_item(cloud: LocalCloud) -> None:
    unknown, known = PriceItem("instance-hour", HOME, "z9.huge"), PriceItem("public-address-hour", HOME)
    answers = AwsPriceList(cloud.client("pricing")).ask([unknown, known])
    assert answers.dollars == {known: 0.005}
    assert answers.problems == (
        "instance-hour of z9.huge in us-west-2: exactly one price per Hrs expected in the price list, found none",
    )


def test_price_list_has_pages(cloud: LocalCloud) -> None:
    pages = list(cloud.client("pricing").get_paginator("get_products").paginate(ServiceCode="AmazonEC2"))
    texts = [text for page in pages for text in page["PriceList"]]
    assert len(pages) > 2
    assert len(set(texts)) == len(texts)
    assert all(len(page["PriceList"]) <= 100 for page in pages)


def test_facts_come_with_card_disk_and_zones_for_known_types_only(cloud: LocalCloud) -> None:
    found = Ec2InstanceTypes(cloud.client("ec2", OTHER)).facts(["c7gn.xlarge", "t3.small", "z9.huge"])
    assert set(found) == {"c7gn.xlarge", "t3.small"}
    fast, small = found["c7gn.xlarge"], found["t3.small"]
    assert (fast.vcpus, fast.architecture, fast.baseline_gbps, fast.peak_gbps) == (4, "arm64", 12.5, 40.0)
    assert (small.network, small.bursts, small.burstable_processor) == (16.0, True, True)
    assert (small.disk, small.peak_disk) == (21.75, 260.625)
    assert small.zones == {"eu-west-1a", "eu-west-1b", "eu-west-1c"}


def test_instance_types_come_in_pages(cloud: LocalCloud) -> None:
    pages = list(cloud.client("ec2").get_paginator("describe_instance_types").paginate())
    names = [item["InstanceType"] for page in pages for item in page["InstanceTypes"]]
    assert len(pages) > 5
    assert len(set(names)) == len(names)


def test_spot_prices_differ_by_zone_and_stay_below_the_list_price(cloud: LocalCloud) -> None:
    market = Ec2SpotMarket(cloud.client("ec2"), cloud.client("iam"))
    prices = {zone: market.latest(["c6in.large", "z9.huge"], zone) for zone in ("us-west-2a", "us-west-2b")}
    dollars = {zone: found["c6in.large"].usd for zone, found in prices.items()}
    assert all(set(found) == {"c6in.large"} for found in prices.values())
    assert len(set(dollars.values())) == 2
    assert all(0.3 * 0.1134 <= usd <= 0.5 * 0.1134 for usd in dollars.values())


def test_quota_and_what_runs_are_told(cloud: LocalCloud, vm: str) -> None:
    quotas = ServiceQuotas(cloud.client("service-quotas"))
    assert (quotas.vcpus("on-demand"), quotas.vcpus("spot")) == (1024, 1024)
    running = {one.instance_id: one for one in Ec2Compute(cloud.client("ec2"), "cpt", cloud.client("ec2")).running()}
    assert (running[vm].vcpus, running[vm].spot) == (2, False)


def test_prices_are_kept_in_the_bucket(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="markets", CreateBucketConfiguration={"LocationConstraint": HOME})
    cache = S3PriceCache(s3, "markets")
    assert cache.read() == {}
    prices = {PriceItem("egress-gb", HOME, OTHER): Price(0.02, "price list", 1_795_219_200.5)}
    cache.write(prices)
    assert cache.read() == prices
    s3.put_object(Bucket="markets", Key="prices.json", Body=b'{"schemaVersion":2}')
    assert cache.read() == {}


def test_without_permission_nothing_is_known_and_nothing_fails(cloud: LocalCloud, stranger: Any) -> None:
    bucket = {"Bucket": "closed", "CreateBucketConfiguration": {"LocationConstraint": HOME}}
    cloud.client("s3").create_bucket(**bucket)
    for call in (stranger("pricing").get_products, stranger("ec2").describe_spot_price_history):
        with pytest.raises(ClientError, match=r"AccessDenied|UnauthorizedOperation"):
            call(**({"ServiceCode": "AmazonEC2"} if call.__name__ == "get_products" else {}))
    item = PriceItem("public-address-hour", HOME)
    answers = AwsPriceList(stranger("pricing")).ask([item])
    assert (answers.dollars, len(answers.problems)) == ({}, 1)
    assert "not authorized" in answers.problems[0]
    assert ServiceQuotas(stranger("service-quotas")).vcpus("spot") is None
    assert Ec2InstanceTypes(stranger("ec2")).facts(["t3.small"]) == {}
    market = Ec2SpotMarket(stranger("ec2"), stranger("iam"))
    assert (market.latest(["t3.small"], "us-west-2a"), market.has_role()) == ({}, True)
    assert S3PriceCache(stranger("s3"), "closed").read() == {}
