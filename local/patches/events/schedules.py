"""What EventBridge Scheduler refuses of a schedule.

AWS: a one-time expression is `at(yyyy-mm-ddThh:mm:ss)` and lies in the future; the role must exist and let Scheduler
assume it for this group, which its trust policy may name as aws:SourceArn; and who makes or changes a schedule needs
iam:PassRole for that role, and the permission for the schedule in its group.
Emulator: takes any expression and any role, asks for no PassRole, and takes each schedule for one of group default.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

from local.patches.replace import override
from local.patches.upstream import account_id, iam, scheduler

_AT = re.compile(r"at\(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\)")
_RECURRING = re.compile(r"(rate\([1-9]\d* (minutes?|hours?|days?)\)|cron\(\S+( \S+){5}\))")
_SERVICE = "scheduler.amazonaws.com"

_create = scheduler._create_schedule
_update = scheduler._update_schedule


def install() -> None:
    """Look at a schedule before it is made or changed."""
    override(
        scheduler,
        _create_schedule=lambda name, body: _problem(body) or _create(name, body),
        _update_schedule=lambda name, body: _problem(body) or _update(name, body),
    )


def group_of(params: Any, body: bytes) -> str:
    """The group that a call about a schedule names."""
    try:
        named = json.loads(body or b"{}").get("GroupName")
    except ValueError:
        named = None
    asked = params.get("groupName") if isinstance(params, dict) else None
    return str(named or (asked[0] if isinstance(asked, list) else asked) or "default")


def _problem(body: dict[str, Any]) -> Any:
    expression = str(body.get("ScheduleExpression", ""))
    if not (_AT.fullmatch(expression) or _RECURRING.fullmatch(expression)):
        return _refused(f"Invalid Schedule Expression {expression}.")
    due = scheduler._at_time_epoch(expression)
    # Which zones there are the emulator does not know: only UTC is judged.
    if due is not None and body.get("ScheduleExpressionTimezone", "UTC") == "UTC" and due <= time.time():
        return _refused(f"Invalid Schedule Expression {expression}. The time is in the past.")
    role = iam._roles.get(str(body.get("Target", {}).get("RoleArn", "")).rpartition("/")[2])
    if role is None or not _may_assume(role["AssumeRolePolicyDocument"], str(body.get("GroupName", "default"))):
        return _refused("The execution role you provide must allow AWS EventBridge Scheduler to assume the role.")
    return None


def _may_assume(trust: Any, group: str) -> bool:
    """Whether a role trusts Scheduler for the schedules of a group."""
    document = json.loads(trust) if isinstance(trust, str) else trust
    source = {"aws:SourceAccount": account_id(), "aws:SourceArn": scheduler._group_arn(group)}
    return any(
        _SERVICE in json.dumps(statement.get("Principal"))
        and all(
            source.get(key) == value for key, value in statement.get("Condition", {}).get("StringEquals", {}).items()
        )
        for statement in document["Statement"]
    )


def _refused(message: str) -> Any:
    return scheduler._error(400, "ValidationException", message)
