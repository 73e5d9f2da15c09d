from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.adapters.dynamodb import Table
from tests.lambdas import tables as made

# The same suite holds the stores in memory and those over DynamoDB, as an emulator and as the official DynamoDB Local
# understand its expressions.
KINDS = ["memory", *made.DYNAMODBS]


@pytest.fixture(scope="session")
def local_client() -> Iterator[Any]:
    with made.dynamodb_local() as client:
        yield client


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tables(kind: str, request: pytest.FixtureRequest) -> Iterator[dict[str, Table]]:
    """Empty where the stores are in memory."""
    if kind == "memory":
        yield {}
    elif kind == "dynamodb":
        with mock_aws():
            yield made.make(boto3.client("dynamodb", region_name="us-west-2"))
    else:
        yield made.make(request.getfixturevalue("local_client"))
