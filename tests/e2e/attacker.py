"""Whoever has a machine's credentials: those that its metadata service hands out."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.account import HOME, Account

READ_KEYS = """
token=$(curl -sX PUT "$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest/api/token" \
  -H 'X-aws-ec2-metadata-token-ttl-seconds: 600')
at="$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest/meta-data/iam/security-credentials/"
role=$(curl -s "$at" -H "X-aws-ec2-metadata-token: $token")
curl -s "$at$role" -H "X-aws-ec2-metadata-token: $token"
"""


@dataclass
class Attacker:
    """Whoever has a machine's credentials."""

    account: Account
    keys: dict[str, str]

    @classmethod
    def on(cls, account: Account, machine: str, region: str = HOME) -> "Attacker":
        """Whoever has a machine of the account."""
        return cls(account, json.loads(account.shell(machine, region, READ_KEYS)))

    def client(self, service: str) -> Any:
        """A client with these credentials."""
        session = boto3.Session(self.keys["AccessKeyId"], self.keys["SecretAccessKey"], self.keys["Token"], HOME)
        make: Any = session.client
        return make(service, endpoint_url=self.account.cloud.endpoint)


def denied(call: Callable[..., Any], **request: Any) -> None:
    """The call is refused for want of a permission."""
    with pytest.raises(ClientError, match="AccessDenied"):
        call(**request)


def item(key: str, record: str) -> dict[str, Any]:
    """A record of a transfer, for calls of DynamoDB."""
    return {"TableName": "cpt-transfers", "Key": {"transferId": {"S": key}, "record": {"S": record}}}


def written(key: str, record: str, attribute: str, value: str = "x") -> dict[str, Any]:
    """A write of one attribute of a record."""
    names, values = {"#a": attribute}, {":a": {"S": value}}
    change = {"UpdateExpression": "SET #a = :a", "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    return {**item(key, record), **change}
