"""A transfer as its records tell it, for people to watch."""

import json
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from cli.aws import Aws

# The function of Await Approval leaves at once; whether a person has answered shows in what was entered next.
AFTER_APPROVAL = ("Apply Approval", "Tear Down", "Write Report")


@dataclass(frozen=True)
class Lane:
    """A live TCP stream; MB/s over the last interval."""

    path_id: str
    lane: int
    megabytes_per_second: float


@dataclass(frozen=True)
class TransferState:
    """One look. Bytes, seconds since 1970, MB/s, dollars as of the last minute; None where nothing is known yet."""

    transfer_id: str
    status: str = "UNKNOWN"
    stage: str = ""
    awaits_approval: bool = False
    measures: bool = False
    estimate: dict[str, Any] | None = None
    total_bytes: int | None = None
    delivered_bytes: int = 0
    megabytes_per_second: float = 0.0
    first_byte_at: float | None = None
    spent_usd: float | None = None
    paths: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = field(default=())

    @property
    def seconds_left(self) -> float | None:
        """At the present rate; None while nothing flows."""
        if self.total_bytes is None or self.megabytes_per_second <= 0:
            return None
        return max(self.total_bytes - self.delivered_bytes, 0) / (self.megabytes_per_second * 1e6)


def _document(value: Any) -> dict[str, Any] | None:
    """A record's attribute as plain JSON values; DynamoDB's numbers come as Decimal."""
    if value is None:
        return None
    parsed = json.loads(value if isinstance(value, str) else json.dumps(value, default=_number))
    return parsed if isinstance(parsed, dict) else None


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def read_state(aws: Aws, transfer_id: str) -> TransferState:
    """Read all records of the transfer in one query."""
    table = aws.resource("dynamodb").Table(f"{aws.deployment}-transfers")
    response = table.query(
        KeyConditionExpression="transferId = :id", ExpressionAttributeValues={":id": transfer_id}, ConsistentRead=True
    )
    records = {str(item["record"]): item for item in response["Items"]}
    transfer = records.get("transfer", {})
    plan = _document(transfer.get("plan"))
    sender = _document(records.get("progress#sender", {}).get("document")) or {}
    membership = _document(records.get("membership", {}).get("document")) or {}
    stages: dict[str, Any] = _document(transfer.get("stages")) or {}
    running = [name for name, times in stages.items() if "leftAt" not in times]
    return TransferState(
        transfer_id=transfer_id,
        status=str(transfer.get("status", "UNKNOWN")),
        stage=", ".join(running),
        awaits_approval="Await Approval" in stages and stages.keys().isdisjoint(AFTER_APPROVAL),
        measures=(_document(transfer.get("request")) or {}).get("profile") == "measure",
        estimate=_document(transfer.get("estimate")),
        total_bytes=int(plan["bytes"]) if plan else None,
        delivered_bytes=int(sender.get("bytes", 0)),
        megabytes_per_second=float(sender.get("rateMBps", 0.0)),
        first_byte_at=sender.get("firstByteAt"),
        spent_usd=(_document(transfer.get("spent")) or {}).get("total"),
        paths=tuple(path["pathId"] for path in membership.get("paths", [])),
        lanes=tuple(Lane(lane["pathId"], lane["lane"], lane["rateMBps"]) for lane in sender.get("lanes", [])),
    )


def execution_arn(aws: Aws, name: str) -> str:
    """ARN of the execution that carries `name`."""
    account = aws.client("sts").get_caller_identity()["Account"]
    return f"arn:aws:states:{aws.region}:{account}:execution:{aws.deployment}-transfer:{name}"


def describe(aws: Aws, arn: str) -> dict[str, Any]:
    """The execution, or a SystemExit that says there is none."""
    try:
        return dict(aws.client("stepfunctions").describe_execution(executionArn=arn))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
            raise SystemExit(f"cpt: there is no execution {arn}") from error
        raise
