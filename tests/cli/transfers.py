"""A transfer's records as DynamoDB gives them, and an account that has some executions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

EXAMPLES = Path(__file__).parents[2] / "contracts" / "examples" / "good"
REQUEST: dict[str, Any] = json.loads((EXAMPLES / "transfer-request" / "minimal.json").read_text())
"""The least that is a request."""
SETTINGS = {"SETTINGS": (EXAMPLES / "function-environment" / "two-regions.json").read_text()}
MACHINE = "arn:aws:states:us-west-2:123456789012:stateMachine:cpt-transfer"
BEGAN = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def relay(node_id: str, state: str, requested: float, **more: Any) -> dict[str, Any]:
    """A node item."""
    times = {name: Decimal(str(value)) if isinstance(value, float) else value for name, value in more.items()}
    base = {"instanceType": "c6in.large", "region": "us-west-2", "requestedAt": Decimal(str(requested))}
    return {"transferId": "nightly", "nodeId": node_id, "state": state, **base, **times}


def records(**more: Any) -> dict[str, dict[str, Any]]:
    """Records of a transfer that moves data, by sort key."""
    rows = [
        {"pairs": pairs, "seconds": Decimal(seconds), "costUsd": Decimal("0.0246"), "speedup": Decimal(1), "limit": "l"}
        for pairs, seconds in ((0, 30), (3, 16))
    ]
    figure = {"value": Decimal(20), "origin": "published", "note": "n"}
    stages = {
        "Validate Request": {"enteredAt": Decimal("1000.5"), "leftAt": Decimal(1001)},
        "Start Transfer": {"enteredAt": Decimal(1004)},
    }
    lanes = [{"pathId": "pair-1", "lane": 0, "rateMBps": 19.5}, {"pathId": "direct", "lane": 0, "rateMBps": 10.25}]
    sender = {"bytes": 300_000_000, "rateMBps": 29.75, "firstByteAt": 1004.5, "lanes": lanes}
    paths = [{"pathId": "direct"}, {"pathId": "pair-1"}]
    transfer = {
        "status": "ACTIVE",
        "source": {"region": "us-west-2", "instanceId": "i-0aaaaaaaaaaaaaaa1"},
        "destination": {"region": "eu-west-1", "instanceId": "i-0bbbbbbbbbbbbbbb2"},
        "executionArn": execution("nightly")["executionArn"],
        "plan": {"bytes": Decimal(600_000_000)},
        "estimate": {
            "bytes": Decimal(600_000_000),
            "rows": rows,
            "chosenPairs": Decimal(3),
            "reason": "worth it",
            "instanceType": "c6in.large",
            "figures": {"directMBps": figure},
        },
        "spent": {"total": Decimal("0.0123"), "at": Decimal(1060)},
        "stages": stages,
        **more,
    }
    return {
        "transfer": transfer,
        "membership": {"membership": json.dumps({"paths": paths})},
        "progress#s0": {"document": json.dumps(sender)},
    }


def execution(name: str, status: str = "RUNNING", **more: Any) -> dict[str, Any]:
    """As DescribeExecution tells it."""
    ended = {} if status == "RUNNING" else {"stopDate": BEGAN + timedelta(seconds=90)}
    arn = f"{MACHINE.replace(':stateMachine:', ':execution:')}:{name}"
    return {"executionArn": arn, "name": name, "status": status, "startDate": BEGAN, "input": "{}", **ended, **more}


@dataclass
class Account:
    """The AWS calls that the commands make; `region` and `deployment` as `cli.aws.Aws` has them."""

    executions: list[dict[str, Any]] = field(default_factory=list)
    records: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    nodes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    region: str = "us-west-2"
    deployment: str = "cpt"
    tenant: str | None = None
    started: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[dict[str, Any]] = field(default_factory=list)
    refusal: str | None = None
    used: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    listed: list[str] = field(default_factory=list)

    def client(self, _service: str) -> "Account":
        return self

    def resource(self, _service: str) -> "Account":
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012", "Arn": "arn:aws:sts::123456789012:assumed-role/people/somebody"}

    def get_function_configuration(self, *, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "cpt-validate-request"
        self.deny("GetFunctionConfiguration")
        return {"Environment": {"Variables": SETTINGS}}

    def deny(self, operation: str) -> None:
        """Refuse a call that this caller may not make."""
        if operation in self.denied:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, operation)

    def Table(self, name: str) -> "Rows":  # noqa: N802
        return Rows(self, name.removeprefix("cpt-"))

    def describe_execution(self, *, executionArn: str) -> dict[str, Any]:  # noqa: N803
        for found in self.executions:
            if found["executionArn"] == executionArn:
                return found
        raise ClientError({"Error": {"Code": "ExecutionDoesNotExist", "Message": "no"}}, "DescribeExecution")

    def start_execution(self, **arguments: Any) -> dict[str, Any]:
        refusal = "ExecutionAlreadyExists" if arguments["name"] in self.used else self.refusal
        if refusal:
            raise ClientError({"Error": {"Code": refusal, "Message": "no"}}, "StartExecution")
        self.started.append(arguments)
        return {"executionArn": execution(arguments["name"])["executionArn"]}

    def stop_execution(self, **arguments: Any) -> None:
        self.stopped.append(arguments)

    def get_paginator(self, _operation: str) -> "Account":
        return self

    def paginate(self, *, stateMachineArn: str, statusFilter: str | None = None) -> Iterator[dict[str, Any]]:  # noqa: N803
        self.listed.append(stateMachineArn)
        assert stateMachineArn == (f"{MACHINE}:{self.tenant}" if self.tenant else MACHINE)
        for found in self.executions:  # a page each
            yield {"executions": [found] if statusFilter in (None, found["status"]) else []}


@dataclass
class Rows:
    """One table, which gives a page of one item at a time."""

    account: Account
    name: str

    def query(self, **query: Any) -> dict[str, Any]:
        transfer_id = query["ExpressionAttributeValues"][":id"]
        # The control plane's record by the transfer's id, those of the ends by the key that they share.
        of_ends = "+" in transfer_id
        known = self.account.records.get(transfer_id.rsplit("+", 1)[-1], {})
        records = {name: record for name, record in known.items() if (name != "transfer") == of_ends}
        items = self.account.nodes.get(transfer_id, [])
        if self.name == "transfers":
            items = [{"record": name, **record} for name, record in records.items()]
        at = query.get("ExclusiveStartKey", 0)
        more = {"LastEvaluatedKey": at + 1} if at + 1 < len(items) else {}
        return {"Items": items[at : at + 1], **more}

    def get_item(self, *, Key: dict[str, str]) -> dict[str, Any]:  # noqa: N803
        self.account.deny("GetItem")
        record = self.account.records.get(Key["transferId"], {}).get(Key["record"])
        return {} if record is None else {"Item": record}
