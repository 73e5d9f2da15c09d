"""Condition keys of DynamoDB's item calls.

AWS: `dynamodb:LeadingKeys` has the partition keys that a call names, `dynamodb:Attributes` the top-level attributes
that it names anywhere: in the key, the item and the expressions. Only calls that read have `dynamodb:Select`.
Emulator: has no leading keys, of the attributes only those of a projection, and `dynamodb:Select` always. Here calls
of one item, queries of a table and batches have both; a scan, and a query whose condition is not understood, has no
leading key, as if it named none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from local.patches.upstream import dynamodb

ONE_ITEM = {f"dynamodb:{verb}Item" for verb in ("Get", "Put", "Update", "Delete")}
WRITES = {f"dynamodb:{verb}Item" for verb in ("Put", "Update", "Delete", "BatchWrite")}
_EXPRESSIONS = ("UpdateExpression", "ConditionExpression", "ProjectionExpression", "KeyConditionExpression")
# A path's first segment: neither a value (:v), nor what follows a dot.
_NAME = re.compile(r"(?<![\w:#.])#?[A-Za-z_]\w*")
_WORDS = {
    *("SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"),
    *("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"),
    *("if_not_exists", "list_append"),
}


def item_context(action: str, body: bytes, known: dict[str, Any]) -> dict[str, Any]:
    """The condition keys of a call: what the emulator knows of it, and those of a call that names items."""
    if action in WRITES:
        known = {key: value for key, value in known.items() if key != "dynamodb:Select"}
    return {**known, **_items(action, body)}


def _items(action: str, body: bytes) -> dict[str, Any]:
    request = json.loads(body or b"{}") if action.startswith("dynamodb:") else {}
    if action in ONE_ITEM:
        items = [request.get("Key") or request.get("Item") or {}]
        return _context(_leading(request.get("TableName"), items), {*items[0], *_named(request)})
    if action == "dynamodb:Query":
        return _context(_queried(request), set(_named(request)))
    if action in ("dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"):
        return _batch(request)
    return {}


def _context(leading: list[str], attributes: set[str]) -> dict[str, Any]:
    keys = {"dynamodb:LeadingKeys": leading} if leading else {}
    return {**keys, "dynamodb:Attributes": sorted(attributes)}


def _batch(request: dict[str, Any]) -> dict[str, Any]:
    leading: list[str] = []
    attributes: set[str] = set()
    for table, wanted in (request.get("RequestItems") or {}).items():
        items = wanted["Keys"] if isinstance(wanted, dict) else [_written(one) for one in wanted]
        leading += _leading(table, items)
        attributes |= {name for item in items for name in item}
        if isinstance(wanted, dict):
            attributes |= set(_named(wanted))
    return _context(leading, attributes)


def _written(request: dict[str, Any]) -> dict[str, Any]:
    (change,) = request.values()
    return dict(change.get("Item") or change.get("Key") or {})


def _leading(table: str | None, items: list[dict[str, dict[str, str]]]) -> list[str]:
    name = str(_table(table).get("pk_name"))
    return [value for item in items for value in item.get(name, {}).values()]


def _queried(request: dict[str, Any]) -> list[str]:
    """The partition that a query names; none for a query of an index."""
    names: dict[str, str] = request.get("ExpressionAttributeNames") or {}
    for name, value in re.findall(r"(#?\w+)\s*=\s*(:\w+)", request.get("KeyConditionExpression") or ""):
        if names.get(name, name) == _table(request.get("TableName")).get("pk_name") and "IndexName" not in request:
            return list((request.get("ExpressionAttributeValues") or {}).get(value, {}).values())
    return []


def _table(name: str | None) -> dict[str, Any]:
    return dynamodb._tables.get(str(name).rsplit("/", 1)[-1]) or {}


def _named(request: dict[str, Any]) -> Iterator[str]:
    names: dict[str, str] = request.get("ExpressionAttributeNames") or {}
    for expression in _EXPRESSIONS:
        for name in _NAME.findall(request.get(expression) or ""):
            if name not in _WORDS:
                yield names.get(name, name)
