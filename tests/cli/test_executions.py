"""ARNs of what the command line asks for are of the partition that its credentials are of."""

from typing import Any

import pytest

from cli.aws import Aws
from cli.executions import machine_arn


class Caller:
    """STS, as far as it is asked."""

    def __init__(self, partition: str) -> None:
        self._partition = partition

    def get_caller_identity(self) -> dict[str, Any]:
        return {"Account": "111111111111", "Arn": f"arn:{self._partition}:iam::111111111111:user/operator"}


@pytest.mark.parametrize(
    ("region", "partition"),
    [("us-west-2", "aws"), ("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn"), ("eusc-de-east-1", "aws-eusc")],
)
def test_state_machine_is_of_the_callers_partition(region: str, partition: str) -> None:
    aws = Aws(region, "blue")
    aws._made[("client", "sts", region)] = Caller(partition)
    assert machine_arn(aws) == f"arn:{partition}:states:{region}:111111111111:stateMachine:blue-transfer"
