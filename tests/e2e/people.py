"""People with policies of the deployment, or with other permissions, and no checkout; IAM is enforced on them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from cli.main import app
from local.endpoints import TRUST
from tests.e2e.account import HOME, Account


@dataclass
class Person:
    """Somebody with the permissions of one role."""

    account: Account
    keys: dict[str, str]

    def cpt(self, *words: str | Path) -> Result:
        """`cpt WORDS` with their credentials, from a directory without a checkout."""
        environment = {
            "AWS_ENDPOINT_URL": self.account.cloud.endpoint,
            "AWS_ACCESS_KEY_ID": self.keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": self.keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": self.keys["SessionToken"],
        }
        return CliRunner().invoke(app, ["--region", HOME, *map(str, words)], env=environment)

    def client(self, service: str) -> Any:
        keys = self.keys["AccessKeyId"], self.keys["SecretAccessKey"], self.keys["SessionToken"]
        make: Any = boto3.Session(*keys, HOME).client
        return make(service, endpoint_url=self.account.cloud.endpoint)

    def clicks(self, function: str, payload: dict[str, Any], **fields: str) -> str:
        """What CloudWatch shows for a click on the dashboard, with the fields of the form beside it."""
        context = {"theme": "dark", "forms": {"all": fields}}
        event = json.dumps({**payload, "widgetContext": context})
        answer = self.client("lambda").invoke(FunctionName=function, Payload=event)
        shown = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, shown
        return str(shown)


def having(account: Account, part: str) -> Person:
    """Somebody with one policy of the deployment, by the output of the stack that names it, and no other permission."""
    stacks = account.aws.client("cloudformation").describe_stacks(StackName="cpt-control")["Stacks"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stacks[0]["Outputs"]}
    return acting_by(account, part, outputs[f"{part.title()}PolicyArn"])


def acting_by(account: Account, name: str, policy: str) -> Person:
    """Somebody with one managed policy, and no other permission."""
    role = _role(account, name)
    account.aws.client("iam").attach_role_policy(RoleName=f"person-{name}", PolicyArn=policy)
    return _acting(account, role, name)


def allowed(account: Account, name: str, statements: list[dict[str, Any]]) -> Person:
    """Somebody with these permissions."""
    role = _role(account, name)
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    account.aws.client("iam").put_role_policy(RoleName=f"person-{name}", PolicyName="own", PolicyDocument=document)
    return _acting(account, role, name)


def trusting(service: str) -> str:
    """The trust policy of a role for a service of AWS."""
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [trust]})


def _role(account: Account, name: str) -> str:
    made = account.aws.client("iam").create_role(RoleName=f"person-{name}", AssumeRolePolicyDocument=json.dumps(TRUST))
    return str(made["Role"]["Arn"])


def _acting(account: Account, role: str, name: str) -> Person:
    session = account.aws.client("sts").assume_role(RoleArn=role, RoleSessionName=name)
    return Person(account, session["Credentials"])


def refused(answer: Result) -> None:
    assert isinstance(answer.exception, ClientError), answer.output
    assert "AccessDenied" in str(answer.exception)


def denied(call: Callable[..., Any], **request: Any) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied|UnauthorizedOperation"):
        call(**request)
