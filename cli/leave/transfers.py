"""Transfers that run, and machines that a deployment has launched."""

import time
from functools import partial
from typing import Any

from cli.aws import Aws
from cli.calls import RefusedError, invoke
from cli.doctor.answers import answer_of
from cli.executions import find_by_arn, machine_arn, transfer_id
from cli.leave.tie import Tie, Ties
from cli.tearing_down import FUNCTION, SECONDS

DEPLOYMENT_TAG = "cpt:deployment"
LOOK_SECONDS = 1.0
_LIVE = ["pending", "running", "shutting-down", "stopping", "stopped"]
# EC2 says `terminated` within some minutes, by when the interface is gone too.
_WAITER = {"Delay": 2, "MaxAttempts": 150}


def running(aws: Aws) -> Ties:
    """Executions that have not ended."""
    client = aws.client("stepfunctions")
    wanted = {"stateMachineArn": machine_arn(aws), "statusFilter": "RUNNING"}
    if answer_of(client.list_executions, "StateMachineDoesNotExist", **wanted) is None:
        return
    for page in client.get_paginator("list_executions").paginate(**wanted):
        for execution in page["executions"]:
            arn = str(execution["executionArn"])
            remedy = "it is stopped and taken down; what has arrived stays"
            yield Tie("holds", aws.region, execution["name"], "the transfer runs", remedy, partial(_stop, aws, arn))


def _stop(aws: Aws, arn: str) -> None:
    name = transfer_id(find_by_arn(aws, arn))
    try:
        invoke(aws, FUNCTION, {"transferId": name, "stop": True}, SECONDS)
    except RefusedError:
        # It has no record yet, so it has launched nothing.
        cause = "stopped because the deployment is removed"
        aws.client("stepfunctions").stop_execution(executionArn=arn, error="Cancelled", cause=cause)
        return
    table = aws.resource("dynamodb").Table(f"{aws.deployment}-transfers")
    deadline = time.monotonic() + SECONDS
    # A function reports on stopped executions by itself: the report must be there before a bucket is emptied.
    while time.monotonic() < deadline and _is_active(table, name):
        time.sleep(LOOK_SECONDS)


def _is_active(table: Any, name: str) -> bool:
    return "active" in table.get_item(Key={"transferId": name, "record": "transfer"}, ConsistentRead=True).get(
        "Item", {}
    )


def launched(aws: Aws, region: str) -> Ties:
    """Relays, and machines that build images."""
    for instance in instances(aws, region):
        instance_id = str(instance["InstanceId"])
        message = f"a machine that the deployment launched is {instance['State']['Name']}"
        yield Tie(
            "holds", region, instance_id, message, "it is terminated", partial(_terminate, aws, region, instance_id)
        )


def instances(aws: Aws, region: str) -> list[dict[str, Any]]:
    """Machines that carry the deployment's tag and are not terminated."""
    filters = [
        {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [aws.deployment]},
        {"Name": "instance-state-name", "Values": _LIVE},
    ]
    pages = aws.client("ec2", region).get_paginator("describe_instances").paginate(Filters=filters)
    return [one for page in pages for group in page["Reservations"] for one in group["Instances"]]


def _terminate(aws: Aws, region: str, instance_id: str) -> None:
    client = aws.client("ec2", region)
    client.terminate_instances(InstanceIds=[instance_id])
    client.get_waiter("instance_terminated").wait(InstanceIds=[instance_id], WaiterConfig=_WAITER)
