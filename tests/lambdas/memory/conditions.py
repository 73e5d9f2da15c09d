"""The conditions and changes of `transfer_life`, judged in memory as DynamoDB judges their expressions."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from lambdas.core.record.transfer_life import Change, Comparison, Condition
from lambdas.core.transfer.accepted import AcceptedTransfer

Item = Mapping[str, Any]


def holds(condition: Condition, item: Item | None) -> bool:
    """Whether an item, or none, fulfils a condition."""
    return any(all(_compare(one, item or {}) for one in alternative) for alternative in condition)


def _compare(one: Comparison, item: Item) -> bool:
    found: Any = item
    for name in one.attribute.split("."):
        found = found.get(name) if found is not None else None
    if one.relation == "absent" or found is None:
        return one.relation == "absent" and found is None
    if one.relation == "size":
        return len(found) == int(one.value)
    if one.relation == "<=":
        return bool(found <= one.value)
    return bool(found in one.value if one.relation == "in" else found == one.value)


def after(item: Item | None, transfer: AcceptedTransfer, change: Change) -> dict[str, Any] | None:
    """The item after a change by the transfer's execution; None where the change may not be made."""
    if item is None or not holds(change.condition(transfer), item):
        return None
    changed = deepcopy(dict(item))
    for attribute, value in change.document.items():
        *outer, name = attribute.split(".")
        (changed[outer[0]] if outer else changed)[name] = value
    counted = {name: changed[name] + 1 for name in change.rule.counts}
    return {name: value for name, value in (changed | counted).items() if name not in change.rule.removes}
