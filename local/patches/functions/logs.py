"""Functions' logs in CloudWatch.

AWS: the service writes them under the function's role: it makes the group only where the role may, and without the
permissions for stream and lines nothing is kept.
Emulator: asks no role, so an invocation that ends after its stack is gone makes the group anew.
"""

from __future__ import annotations

from typing import Any

from local.patches.iam.checks import role_may
from local.patches.replace import override
from local.patches.upstream import cloudwatch_logs, lambda_svc

WRITES = ("logs:CreateLogStream", "logs:PutLogEvents")

_emit = lambda_svc._emit_lambda_logs


def install() -> None:
    """Ask the role before a log is written."""
    override(lambda_svc, _emit_lambda_logs=_under_the_role)


def _under_the_role(function: dict[str, Any], *invocation: Any, **options: Any) -> None:
    config = function.get("config") or function
    group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{config['FunctionName']}"
    actions = WRITES if group in cloudwatch_logs._log_groups else ("logs:CreateLogGroup", *WRITES)
    arn = cloudwatch_logs._make_group_arn(group)
    if all(role_may(config["Role"], action, arn) for action in actions):
        _emit(function, *invocation, **options)
