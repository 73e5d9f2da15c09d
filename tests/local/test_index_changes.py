"""A deployed table's indexes: one comes or goes in an update, none changes, and one that is built refuses queries."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.dynamodb import Table
from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME
from tests.local.stacks import deployed

Deploy = Callable[..., str]
ALL, KEYS = "ALL", "KEYS_ONLY"


@pytest.fixture
def name() -> str:
    return f"indexed-{uuid.uuid4()}"


@pytest.fixture
def deploy(cloud: LocalCloud, name: str) -> Deploy:
    """Creates or updates a stack whose table has these indexes by what they hold; the stack's status then."""

    def of_indexes(**indexes: str) -> str:
        keys = [{"AttributeName": key, "KeyType": kind} for key, kind in (("active", "HASH"), ("id", "RANGE"))]
        properties: dict[str, Any] = {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in ("id", "active")],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {"IndexName": index, "KeySchema": keys, "Projection": {"ProjectionType": holds}}
                for index, holds in indexes.items()
            ],
        }
        return deployed(cloud, name, "AWS::DynamoDB::Table", properties)

    return of_indexes


def test_another_index_comes_beside_the_old_one_which_goes_in_the_next_release(
    cloud: LocalCloud, deploy: Deploy, name: str
) -> None:
    table = Table(cloud.client("dynamodb"), name)

    def found() -> list[str]:
        return [item["id"] for item in table.query_first("active = :yes", ("running", "active"), yes="yes")]

    assert deploy(active=ALL) == "CREATE_COMPLETE"
    table.put({"id": "first", "active": "yes"})
    assert found() == ["first"]
    assert deploy(active=ALL, running=KEYS) == "UPDATE_COMPLETE"
    table.put({"id": "second", "active": "yes"})
    cloud.spoil(Fault(operation="QueryIndex", region=HOME, table=name, index="running", code="Backfilling", count=1))
    assert found() == ["first", "second"]
    cloud.spoil(Fault(operation="QueryIndex", region=HOME, table=name, index="active", code="Backfilling", count=1))
    assert found() == ["first", "second"]
    assert deploy(running=KEYS) == "UPDATE_COMPLETE"
    assert found() == ["first", "second"]


@pytest.mark.parametrize("indexes", [{"running": KEYS}, {"active": KEYS}, {"active": ALL, "a": KEYS, "b": KEYS}])
def test_two_changes_and_a_change_in_place_are_refused(deploy: Deploy, indexes: dict[str, str]) -> None:
    deploy(active=ALL)
    assert deploy(**indexes).endswith("ROLLBACK_COMPLETE")


def test_other_refusals_of_an_index_are_not_passed_over(cloud: LocalCloud, deploy: Deploy, name: str) -> None:
    deploy(active=ALL, running=KEYS)
    table = Table(cloud.client("dynamodb"), name)
    cloud.spoil(Fault(operation="QueryIndex", region=HOME, table=name, index="running", code="AccessDenied", count=1))
    with pytest.raises(ClientError, match="AccessDenied"):
        table.query_first("active = :yes", ("running", "active"), yes="yes")
