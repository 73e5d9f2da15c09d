"""Every module of the emulator that the patches touch, in one place; all of them are untyped and pinned by version."""

from __future__ import annotations

import importlib
from typing import Any


def _module(name: str) -> Any:
    return importlib.import_module(name)


app: Any = _module("ministack.app")
iam_actions: Any = _module("ministack.core.iam_actions")
iam_evaluator: Any = _module("ministack.core.iam_evaluator")
lambda_runtime: Any = _module("ministack.core.lambda_runtime")
responses: Any = _module("ministack.core.responses")
router: Any = _module("ministack.core.router")
parse_arn: Any = _module("ministack.core.arn").parse_arn
cloudwatch_logs: Any = _module("ministack.services.cloudwatch_logs")
dynamodb: Any = _module("ministack.services.dynamodb")
ec2: Any = _module("ministack.services.ec2")
efs: Any = _module("ministack.services.efs")
emr: Any = _module("ministack.services.emr")
eventbridge: Any = _module("ministack.services.eventbridge")
iam: Any = _module("ministack.services.iam")
kms: Any = _module("ministack.services.kms")
lambda_svc: Any = _module("ministack.services.lambda_svc")
provisioners: Any = _module("ministack.services.cloudformation.provisioners")
s3: Any = _module("ministack.services.s3")
scheduler: Any = _module("ministack.services.scheduler")
sqs: Any = _module("ministack.services.sqs")
ssm: Any = _module("ministack.services.ssm")
stepfunctions: Any = _module("ministack.services.stepfunctions")
sts: Any = _module("ministack.services.sts")

request_scope: Any = responses.request_scope
scoped_dict: Any = responses.AccountRegionScopedDict


def account_id() -> str:
    """Account of the current request."""
    return str(responses.get_account_id())


def region_name() -> str:
    """Region of the current request."""
    return str(responses.get_region())
