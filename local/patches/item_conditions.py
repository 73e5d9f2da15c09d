"""Condition keys of DynamoDB's item calls.

AWS: `dynamodb:LeadingKeys` has the partition keys that a call names, `dynamodb:Attributes` the top-level attributes
that it names anywhere: in the key, the item and the expressions.
Emulator: has no leading keys, and of the attributes only those of a projection. Here calls of one item have both; of
other calls nothing more is known than the emulator knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from local.patches.upstream import dynamodb

ACTIONS = {f"dynamodb:{verb}Item" for verb in ("Get", "Put", "Update", "Delete")}
_EXPRESSIONS = ("UpdateExpression", "ConditionExpression", "ProjectionExpression")
# A path's first segment: neither a value (:v), nor what follows a dot.
_NAME = re.compile(r"(?<![\w:#.])#?[A-Za-z_]\w*")
_WORDS = {
    *("SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"),
    *("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"),
    *("if_not_exists", "list_append"),
}


def item_context(action: str, body: bytes) -> dict[str, Any]:
    """The keys of a call of one item; empty for any other."""
    if action not in ACTIONS:
        return {}
    request = json.loads(body or b"{}")
    item: dict[str, dict[str, str]] = request.get("Key") or request.get("Item") or {}
    table = dynamodb._tables.get(request.get("TableName")) or {}
    leading = list(item.get(str(table.get("pk_name")), {}).values())
    return {"dynamodb:LeadingKeys": leading, "dynamodb:Attributes": sorted({*item, *_named(request)})}


def _named(request: dict[str, Any]) -> Iterator[str]:
    names: dict[str, str] = request.get("ExpressionAttributeNames") or {}
    for expression in _EXPRESSIONS:
        for name in _NAME.findall(request.get(expression) or ""):
            if name not in _WORDS:
                yield names.get(name, name)
