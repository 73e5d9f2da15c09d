"""A service of one region is unwell, or an index is behind its table: as on AWS, and only where a script says so."""

import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME, OTHER

LATE_SECONDS = 3.0
TABLE: dict[str, Any] = {
    "TableName": "trouble",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "active")],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "active",
            "KeySchema": [{"AttributeName": "active", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def spoil(cloud: LocalCloud, **fault: Any) -> None:
    cloud.spoil(Fault.model_validate(fault))


def describe(cloud: LocalCloud, region: str) -> float:
    began = time.monotonic()
    cloud.client("ec2", region).describe_instances()
    return time.monotonic() - began


def test_a_region_whose_ec2_answers_late_delays_no_other(cloud: LocalCloud) -> None:
    spoil(cloud, operation="DescribeInstances", region=OTHER, count=1, delaySeconds=LATE_SECONDS)
    assert describe(cloud, HOME) < LATE_SECONDS
    assert describe(cloud, OTHER) >= LATE_SECONDS


def test_a_region_whose_ec2_fails_says_so_as_a_server_and_no_other_does(cloud: LocalCloud) -> None:
    spoil(cloud, operation="DescribeInstances", region=OTHER, count=1, code="Unavailable")
    describe(cloud, HOME)
    with pytest.raises(ClientError) as refused:
        describe(cloud, OTHER)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503


def test_an_index_that_is_behind_finds_nothing_of_what_its_table_has(cloud: LocalCloud) -> None:
    client = cloud.client("dynamodb", HOME)
    client.create_table(**TABLE)
    item = {"id": {"S": "first"}, "active": {"S": "yes"}}
    client.put_item(TableName="trouble", Item=item)
    by_index: dict[str, Any] = {
        "TableName": "trouble",
        "IndexName": "active",
        "KeyConditionExpression": "active = :yes",
        "ExpressionAttributeValues": {":yes": {"S": "yes"}},
    }
    spoil(cloud, operation="QueryIndex", region=HOME, table="trouble", count=1, code="Behind")
    assert client.query(**by_index)["Items"] == []
    assert client.get_item(TableName="trouble", Key={"id": item["id"]})["Item"] == item
    assert client.query(**by_index)["Items"] == [item]
