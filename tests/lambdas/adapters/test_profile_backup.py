"""The profile table as a whole; tests/cli/test_profiles.py has export and import over DynamoDB's API."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.codec import encode_item
from lambdas.adapters.profile_backup import ProfileBackup
from lambdas.core.errors import InvalidRequest, WriteConflict
from lambdas.core.estimate.profile_entry import ProfileEntry

ENTRY = ProfileEntry(subject="t3.small", region_pair="a>b", configured={"spawn": 8.5})
STORED: dict[str, Any] = {"subject": "t3.small", "regionPair": "a>b", "version": 3, "metrics": {}}


class Busy:
    """A table in which somebody else always writes between a read and a write; pages hold one item each."""

    def __init__(self, *items: dict[str, Any]) -> None:
        self._items, self.writes = items, 0

    def get_item(self, **_: Any) -> dict[str, Any]:
        return {"Item": encode_item(self._items[0])} if self._items else {}

    def put_item(self, **_: Any) -> None:
        self.writes += 1
        raise ClientError({"Error": {"Code": "ConditionalCheckFailedException", "Message": "no"}}, "PutItem")

    update_item = put_item

    def get_paginator(self, operation: str) -> "Busy":
        assert operation == "scan"
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        assert asked["ConsistentRead"] is True
        return [{"Items": [encode_item(item)]} for item in self._items]


@pytest.mark.parametrize("items", [(), (STORED,)])
def test_an_item_that_changes_again_and_again_is_given_up_by_name(items: tuple[dict[str, Any], ...]) -> None:
    client = Busy(*items)
    with pytest.raises(WriteConflict, match=r"t3\.small \(a>b\) changed 8 times"):
        ProfileBackup(client, "cpt-profiles").restore(ENTRY, overwrite=False)
    assert client.writes == 8


def test_all_pages_are_read_and_an_item_that_no_import_would_take_is_named() -> None:
    other = {**STORED, "subject": "m5.large", "metrics": {"speed": {}}}
    found = ProfileBackup(Busy(STORED, other), "cpt-profiles").entries()
    assert next(found).subject == "t3.small"
    with pytest.raises(InvalidRequest, match=r"the table's item of m5\.large on a>b: \$\.metrics\.speed"):
        next(found)
