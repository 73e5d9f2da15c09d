"""Request units of DynamoDB, as AWS counts them: a write is one per KB of the item, a read one per 4 KB.

AWS: a write counts the larger of the item before and after, and the same again in each index that holds it; where its
condition fails, the item that is there. A read counts all that it reads together, half where it may be stale.
Emulator: knows the sizes of writes, for a caller who asks; reads count one, whatever their size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from local.calls import Calls
from local.patches.replace import override
from local.patches.upstream import dynamodb

READ_BYTES = 4096
TRANSACTION = 2


def install(calls: Calls) -> None:
    """Count every item that is written or read."""
    consumed, batched = dynamodb._add_consumed_capacity, dynamodb._accumulate_write_capacity
    failed = dynamodb._conditional_check_failed

    def count(
        result: Any, data: Any, name: str, write: bool = False, old_item: Any = None, new_item: Any = None, **more: Any
    ) -> None:
        if write:
            calls.add("tableWrites", _written(dynamodb._tables.get(name, {}), old_item, new_item))
        else:
            items = result["Items"] if "Items" in result else [result.get("Item")]
            calls.add("tableReads", _read(items, consistent=data.get("ConsistentRead", False)))
        consumed(result, data, name, write=write, old_item=old_item, new_item=new_item, **more)

    def count_in_batch(capacity: Any, table: Any, old_item: Any, new_item: Any) -> None:
        calls.add("tableWrites", _written(table, old_item, new_item))
        batched(capacity, table, old_item, new_item)

    def count_refused(data: Any, old_item: Any, *more: Any) -> Any:
        calls.add("tableWrites", dynamodb._capacity_kb(_size(old_item)))
        return failed(data, old_item, *more)

    override(
        dynamodb,
        _add_consumed_capacity=count,
        _accumulate_write_capacity=count_in_batch,
        _conditional_check_failed=count_refused,
        _batch_get_item=_before(dynamodb._batch_get_item, lambda data: calls.add("tableReads", _batch_read(data))),
        _transact_write_items=_before(
            dynamodb._transact_write_items, lambda data: _transaction(data, "tableWrites", calls)
        ),
        _transact_get_items=_before(dynamodb._transact_get_items, lambda data: _transaction(data, "tableReads", calls)),
    )


def _before(action: Callable[[Any], Any], count: Callable[[Any], None]) -> Callable[[Any], Any]:
    def counted(data: Any) -> Any:
        count(data)
        return action(data)

    return counted


def _size(item: Any) -> int:
    return int(dynamodb._item_size_bytes(item)) if item else 0


def _written(table: Any, old_item: Any, new_item: Any) -> float:
    indexes = [*(table.get("GlobalSecondaryIndexes") or []), *(table.get("LocalSecondaryIndexes") or [])]
    beside = sum(dynamodb._index_write_units(table, index, old_item, new_item) or 0 for index in indexes)
    return float(dynamodb._capacity_kb(max(_size(old_item), _size(new_item))) + beside)


def _read(items: list[Any], *, consistent: bool) -> float:
    units = max(ceil(sum(map(_size, items)) / READ_BYTES), 1)
    return units if consistent else units / 2


def _batch_read(data: Any) -> float:
    units = 0.0
    for name, wanted in data.get("RequestItems", {}).items():
        table = dynamodb._tables.get(name)
        for key in wanted.get("Keys", ()) if table else ():
            item = dynamodb._get_item_by_key(table, key)
            units += _read([item], consistent=wanted.get("ConsistentRead", False))
    return units


def _transaction(data: Any, what: str, calls: Calls) -> None:
    """Two units an item: no code of ours uses one, so nobody needs their sizes."""
    calls.add(what, TRANSACTION * len(data.get("TransactItems", ())))
