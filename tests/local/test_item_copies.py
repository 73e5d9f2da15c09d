"""Copies of items that the local cloud's tables make."""

from decimal import Decimal
from typing import Any


def test_a_copy_is_equal_and_shares_nothing_that_can_change() -> None:
    from local.patches.tables.item_copies import copied

    item: dict[str, Any] = {
        "a": {"M": {"b": {"L": [{"S": "\u00fc"}, {"N": "1e3"}, {"BOOL": True}, {"NULL": True}]}}},
        "c": b"\0",
    }
    copy = copied(item)
    assert copy == item
    copy["a"]["M"]["b"]["L"].append("more")
    copy["a"]["M"]["d"] = {}
    assert len(item["a"]["M"]["b"]["L"]) == 4
    assert "d" not in item["a"]["M"]


def test_what_is_no_plain_data_is_copied_too() -> None:
    from local.patches.tables.item_copies import copied

    item = {"a": [Decimal("1.5")]}
    copy = copied(item)
    copy["a"].append(1)
    assert item == {"a": [Decimal("1.5")]}
