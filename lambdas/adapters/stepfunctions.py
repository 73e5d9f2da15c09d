"""Task tokens, and executions of the deployment's state machine."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.core.errors import Throttled
from lambdas.core.watch.overview import Execution

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient
    from mypy_boto3_stepfunctions.type_defs import DescribeExecutionOutputTypeDef

_OVER = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
MAX_CAUSE = 32_768
MAX_ERROR = 256


class StepFunctions:
    """Executions over Step Functions."""

    def __init__(self, client: "SFNClient", machine_arn: str) -> None:
        self._client = client
        self._machine_arn = machine_arn

    def start(self, name: str, request: Any, tenant: str | None = None) -> str:
        """See Executions."""
        try:
            self._client.start_execution(stateMachineArn=self._asked(tenant), name=name, input=json.dumps(request))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
        return f"{self._machine_arn.replace(':stateMachine:', ':execution:')}:{name}"

    def ended(self, most: int, tenant: str | None = None) -> list[Execution]:
        """See Executions."""
        page = self._client.list_executions(stateMachineArn=self._asked(tenant), maxResults=most)
        return [
            Execution(one["name"], one["status"], one["startDate"].timestamp(), one["stopDate"].timestamp())
            for one in page["executions"]
            if "stopDate" in one
        ]

    def succeed(self, token: str, output: dict[str, Any]) -> bool:
        """See Executions."""
        return self._answer(lambda: self._client.send_task_success(taskToken=token, output=json.dumps(output)))

    def fail(self, token: str, error: str, cause: str) -> bool:
        """See Executions."""
        return self._answer(
            lambda: self._client.send_task_failure(taskToken=token, error=error[:MAX_ERROR], cause=cause[:MAX_CAUSE])
        )

    def heartbeat(self, token: str) -> bool:
        """See Executions."""
        return self._answer(lambda: self._client.send_task_heartbeat(taskToken=token))

    def stop(self, execution_arn: str, error: str, cause: str) -> None:
        """See Executions."""
        self._client.stop_execution(executionArn=execution_arn, error=error[:MAX_ERROR], cause=cause[:MAX_CAUSE])

    def alias(self, execution_arn: str) -> str | None:
        """See Executions."""
        found = self._describe(execution_arn)
        if found is None:
            # It answers what it knows, a moment late at times; and without an alias it would be the operator's.
            raise Throttled(f"Step Functions does not know {execution_arn} yet")
        return found.get("stateMachineAliasArn")

    def status(self, execution_arn: str) -> str | None:
        """See Executions."""
        found = self._describe(execution_arn)
        return found["status"] if found else None

    def why(self, execution_arn: str) -> tuple[str, str]:
        """See Executions."""
        found = self._describe(execution_arn)
        return (found.get("error") or "", found.get("cause") or "") if found else ("", "")

    def _asked(self, tenant: str | None) -> str:
        return f"{self._machine_arn}:{tenant}" if tenant else self._machine_arn

    def _describe(self, execution_arn: str) -> "DescribeExecutionOutputTypeDef | None":
        try:
            return self._client.describe_execution(executionArn=execution_arn)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
                return None
            raise

    @staticmethod
    def _answer(call: Callable[[], object]) -> bool:
        try:
            call()
        except ClientError as error:
            if error.response["Error"]["Code"] in _OVER:
                return False
            raise
        return True
