"""EventBridge Scheduler: one schedule for the end of each window."""

import json
from datetime import UTC, datetime
from math import ceil
from typing import Any

from botocore.exceptions import ClientError

# As of schedules of transfers: whatever is later the reconciler has told by then.
_RETRY = {"MaximumEventAgeInSeconds": 3_600, "MaximumRetryAttempts": 10}


class WindowSchedules:
    """Schedules over EventBridge Scheduler; names are those of infra/lib/names.ts."""

    def __init__(self, client: Any, deployment: str, state_machine: str) -> None:
        _, partition, _, region, account, *_ = state_machine.split(":")
        self._client = client
        self._group = f"{deployment}-windows"
        function = f"{deployment}-close-window"
        self._function = f"arn:{partition}:lambda:{region}:{account}:function:{function}"
        self._dead_letters = f"arn:{partition}:sqs:{region}:{account}:{function}-dead-letters"
        self._role = f"arn:{partition}:iam::{account}:role/{deployment}-windows-{region}"

    def once(self, name: str, at: float, detail: dict[str, Any]) -> None:
        """See Schedules."""
        event = {"detail-type": "Window Due", "source": "aws.scheduler", "detail": detail}
        try:
            self._client.create_schedule(
                Name=name,
                GroupName=self._group,
                ScheduleExpression=f"at({datetime.fromtimestamp(ceil(at), UTC):%Y-%m-%dT%H:%M:%S})",
                FlexibleTimeWindow={"Mode": "OFF"},
                ActionAfterCompletion="DELETE",
                Target={
                    "Arn": self._function,
                    "RoleArn": self._role,
                    "Input": json.dumps(event),
                    "DeadLetterConfig": {"Arn": self._dead_letters},
                    "RetryPolicy": _RETRY,
                },
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConflictException":
                raise
