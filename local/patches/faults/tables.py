"""Configured faults of DynamoDB's data calls.

AWS: any call may be throttled; BatchWriteItem may write a part and hand the rest back as UnprocessedItems; an index is
behind its table for a moment, or longer, so that a query by it misses items; until it is built it refuses queries.
Emulator: none of it happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.config import Fault
from local.instances.faults import Faults
from local.patches.upstream import dynamodb, region_name

Action = Callable[[dict[str, Any]], Any]
ACTIONS = {
    "BatchWriteItem": "_batch_write_item",
    "DeleteItem": "_delete_item",
    "GetItem": "_get_item",
    "PutItem": "_put_item",
    "Query": "_query",
    "UpdateItem": "_update_item",
}
UNPROCESSED = "UnprocessedItems"
# Of operation QueryIndex: the index has none of its items yet.
BEHIND = "Behind"
# Of the same: it is being built.
BACKFILLING = "Backfilling"


def install(faults: Faults) -> None:
    """Guard the calls that read and write items."""
    for name, function in ACTIONS.items():
        setattr(dynamodb, function, _guarded(name, getattr(dynamodb, function), faults))


def _guarded(name: str, action: Action, faults: Faults) -> Action:
    def guarded(data: dict[str, Any]) -> Any:
        fault = faults.hit(name, region_name(), table=_table(data))
        if fault is None and "IndexName" in data:
            fault = faults.hit("QueryIndex", region_name(), table=_table(data), index=str(data["IndexName"]))
        if fault is None:
            return action(data)
        if fault.code == BEHIND:
            return dynamodb.json_response({"Items": [], "Count": 0, "ScannedCount": 0})
        if fault.code == BACKFILLING:
            words = f"Cannot read from backfilling global secondary index: {data['IndexName']}"
            return dynamodb.error_response_json("ValidationException", words, 400)
        if fault.code == UNPROCESSED:
            return _in_part(data, action, fault)
        return dynamodb.error_response_json(fault.code, "Spoiled by a script of the local cloud.", 400)

    return guarded


def _table(data: dict[str, Any]) -> str:
    return str(data.get("TableName") or next(iter(data.get("RequestItems", {})), ""))


def _in_part(data: dict[str, Any], action: Action, fault: Fault) -> Any:
    """Only the first `available` requests of the batch are written; BatchWriteItem with one table is meant."""
    ((table, requests),) = data["RequestItems"].items()
    taken, rest = requests[: fault.available], requests[fault.available :]
    if taken:
        action({**data, "RequestItems": {table: taken}})
    return dynamodb.json_response({"UnprocessedItems": {table: rest} if rest else {}})
