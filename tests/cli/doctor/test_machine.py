"""A machine that is named and not there is told by the key of the request that names it."""

from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from cli.aws import Aws
from cli.doctor.machine import End

WEST = "us-west-2"


class Account:
    """What the checks ask of `Aws`."""

    def client(self, service: str, region: str) -> Any:
        return boto3.client(cast(Any, service), region_name=region)


@pytest.mark.parametrize("field", ["instanceId", "instanceIds[1]", "workers[0]"])
def test_an_instance_that_there_is_not_is_told_by_its_key(field: str) -> None:
    with mock_aws():
        end = End(cast(Aws, Account()), "source", WEST, "i-0aaaaaaaaaaaaaaa1", field=field, require_consent=False)
        (found,) = end.looked_at()
    assert (found.status, found.remedy) == ("failed", f"correct {field} or region")
