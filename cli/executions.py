"""Executions of the deployment's state machine, by the names that people give them."""

import json
from typing import Any

from botocore.exceptions import ClientError

from cli.aws import Aws
from cli.calls import refuse
from cli.options import and_local
from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import NoSuchTransfer


def machine_arn(aws: Aws) -> str:
    """ARN of the state machine."""
    caller = aws.client("sts").get_caller_identity()
    partition = caller["Arn"].split(":")[1]
    return f"arn:{partition}:states:{aws.region}:{caller['Account']}:stateMachine:{aws.deployment}-transfer"


def asked_arn(aws: Aws) -> str:
    """ARN by which executions are started and listed: a tenant's alias of the state machine, or the machine itself."""
    return f"{machine_arn(aws)}:{aws.tenant}" if aws.tenant else machine_arn(aws)


def find(aws: Aws, name: str) -> dict[str, Any]:
    """The latest execution of that transfer, else the execution of that name; ends the command where there is none."""
    execution = _of_transfer(aws, name)
    execution = execution or _describe(aws, _named(aws, name))
    if execution is None:
        refuse(
            NoSuchTransfer.__name__,
            f"there is no transfer '{name}' in {aws.region}; cpt list{and_local()} shows what has run",
        )
    return execution


def find_by_arn(aws: Aws, arn: str) -> dict[str, Any]:
    """One that is known to have been started; ends the command where Step Functions has forgotten it since."""
    execution = _describe(aws, arn)
    if execution is None:
        refuse(NoSuchTransfer.__name__, f"there is no execution {arn} any more")
    return execution


def transfer_id(execution: dict[str, Any]) -> str:
    """The transfer's id: the request's name, else the execution's."""
    request = json.loads(execution["input"])
    return str((request.get("name") if isinstance(request, dict) else None) or execution["name"])


def label(execution: dict[str, Any]) -> str | None:
    """What people call it, as its request says; None where that says nothing, or something that is no label."""
    request = json.loads(execution["input"])
    found = request.get("label") if isinstance(request, dict) else None
    return found if isinstance(found, str) and found else None


def is_free(aws: Aws, name: str) -> bool:
    """Whether no transfer has that name: all that was called so are executions that ended before one began.

    False where the caller may not look.
    """
    try:
        if _record(aws, name) is not None:
            return False
        execution = _describe(aws, _named(aws, name))
    except ClientError as error:
        if is_denied(error):
            return False
        raise
    return execution is None or execution["status"] != "RUNNING"


def _named(aws: Aws, name: str) -> str:
    return f"{machine_arn(aws).replace(':stateMachine:', ':execution:')}:{name}"


def _record(aws: Aws, name: str) -> dict[str, Any] | None:
    table = aws.resource("dynamodb").Table(f"{aws.deployment}-transfers")
    record: dict[str, Any] | None = table.get_item(Key={"transferId": name, "record": "transfer"}).get("Item")
    return record


def _of_transfer(aws: Aws, name: str) -> dict[str, Any] | None:
    record = _record(aws, name)
    return None if record is None else _describe(aws, str(record["executionArn"]))


def _describe(aws: Aws, arn: str) -> dict[str, Any] | None:
    """The execution as Step Functions tells it; None where there is none."""
    try:
        return dict(aws.client("stepfunctions").describe_execution(executionArn=arn))
    except ClientError as error:
        if error.response["Error"]["Code"] in ("ExecutionDoesNotExist", "InvalidArn"):
            return None
        raise
