"""Reading the records of a transfer, for people to watch."""

from collections.abc import Mapping
from typing import Any

from cli.aws import Aws
from lambdas.core.transfer.partition import partition_of
from lambdas.core.transfer.record_format import machines_of
from lambdas.core.watch.transfer_state import TransferState, state_of


def read_state(aws: Aws, transfer_id: str, execution_arn: str | None = None) -> TransferState:
    """Read all records and relays of the transfer, in three queries; of that execution alone, where one is given."""
    records = {str(item["record"]): item for item in _items(aws, "transfers", transfer_id)}
    transfer = records.get("transfer", {})
    if execution_arn and transfer.get("executionArn", execution_arn) != execution_arn:
        return state_of(transfer_id, {}, [])
    if transfer:
        ends = machines_of(transfer)
        shared = partition_of(transfer["executionArn"], ends, transfer_id)
        records |= {str(item["record"]): item for item in _items(aws, "transfers", shared)}
    return state_of(transfer_id, records, _items(aws, "nodes", transfer_id))


def _items(aws: Aws, table: str, transfer_id: str) -> list[Mapping[str, Any]]:
    """Return all items of the transfer; a page has 1 MB."""
    found: list[Mapping[str, Any]] = []
    source = aws.resource("dynamodb").Table(f"{aws.deployment}-{table}")
    query: dict[str, Any] = {
        "KeyConditionExpression": "transferId = :id",
        "ExpressionAttributeValues": {":id": transfer_id},
        "ConsistentRead": True,
    }
    while True:
        page = source.query(**query)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            return found
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
