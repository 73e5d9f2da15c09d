"""Lists of keys: named by their bytes, in one order, and read back as they were."""

import json
from hashlib import sha256

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from lambdas.core.ends.key_list import LIST_KEY, KeyEntry, list_key, read, written
from tests.paths import CONTRACTS

ENTRIES = [
    KeyEntry(key="daily/ü", version_id="v2", size=7, etag="abc-2"),
    KeyEntry(key="daily/a"),
    KeyEntry(key="daily/a b", size=0),
]


def test_a_list_is_the_same_bytes_in_whatever_order_its_entries_come_and_reads_back() -> None:
    body = written(ENTRIES)
    assert body == written(reversed(ENTRIES))
    assert [entry.key for entry in read(body.splitlines())] == ["daily/a", "daily/a b", "daily/ü"]
    assert sorted(read(body.splitlines()), key=str) == sorted(ENTRIES, key=str)


def test_order_is_that_of_the_bytes_not_of_utf_16() -> None:
    # In UTF-16 the second, a pair of surrogates, would come first.
    body = written([KeyEntry(key="\U0001f600"), KeyEntry(key="￿")])
    assert [entry.key for entry in read(body.splitlines())] == ["￿", "\U0001f600"]


def test_lines_fit_the_contract_and_the_name_is_the_digest() -> None:
    body = written(ENTRIES)
    schema = Draft202012Validator(json.loads((CONTRACTS / "key-entry.schema.json").read_text()))
    for line in body.splitlines():
        schema.validate(json.loads(line))
    assert list_key(body) == f"keys/{sha256(body).hexdigest()}.ndjson"
    assert LIST_KEY.fullmatch(list_key(body))


@pytest.mark.parametrize("key", ["", "é" * 513])
def test_a_key_that_no_object_has_is_refused(key: str) -> None:
    with pytest.raises(ValidationError):
        list(read([json.dumps({"key": key}).encode()]))
