"""Sizes and spans of time in requests, as people write them."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.quantities import SIZE, SPAN, size_bytes, span_seconds
from lambdas.core.request.request import TransferRequest, parse_request
from tests.lambdas.core.request.test_request import LIMITS
from tests.paths import CONTRACTS

MINIMAL = json.loads((CONTRACTS / "examples/good/transfer-request/minimal.json").read_text())
SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "transfer-request.schema.json").read_text()))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8GB", 8 * 10**9),
        ("8 gb", 8 * 10**9),
        ("1.5 TiB", 3 << 39),
        ("0.1kB", 100),
        ("1KiB", 1024),
        ("7B", 7),
        ("9999PiB", 9999 << 50),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert size_bytes(text) == count


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("2 h", 7200), ("30d", 2_592_000)])
def test_spans(text: str, seconds: int) -> None:
    assert span_seconds(text) == seconds


@pytest.mark.parametrize("text", ["8", "", "GB", "8XB", "-1GB", "1e3GB", "8 GB ", "10000PB", "8GB\n"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        size_bytes(text)


@pytest.mark.parametrize("text", ["30", "0d", "1.5h", "1y", "-1d", "1d\n", ""])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no span"):
        span_seconds(text)


@given(st.from_regex(SIZE, fullmatch=True).filter(lambda text: "\n" not in text))
def test_each_size_of_the_pattern_is_read_and_has_64_bits(text: str) -> None:
    assert 0 <= size_bytes(text) < 1 << 64


def asked(path: str, value: object) -> dict[str, Any]:
    """The smallest request, with `value` at the dotted path."""
    *parents, last = path.split(".")
    found: dict[str, Any] = json.loads(json.dumps(MINIMAL))
    place = found
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = value
    return found


@pytest.mark.parametrize(
    ("path", "text", "number"),
    [
        ("select.minSizeBytes", "1MiB", 1 << 20),
        ("select.maxSizeBytes", "8 GB", 8 * 10**9),
        ("objective.deadlineSeconds", "2h", 7200),
        ("preTestSeconds", "30s", 30),
        ("preTestSeconds", "1m", 60),
        ("approvalTimeoutSeconds", "7d", 604_800),
        ("chunkSizeMiB", "64MiB", 64),
        ("chunkSizeMiB", "1 GiB", 1024),
    ],
)
def test_a_request_may_say_it_in_words_or_as_a_number(path: str, text: str, number: int) -> None:
    written, plain = asked(path, text), asked(path, number)
    assert SCHEMA.is_valid(written)
    assert parse_request(written, LIMITS) == parse_request(plain, LIMITS)
    # What is accepted, kept and handed to the daemon is the number.
    assert TransferRequest.from_document(written).to_document() == TransferRequest.from_document(plain).to_document()


@pytest.mark.parametrize(
    ("path", "text", "remedy"),
    [
        ("select.maxSizeBytes", "1XB", "e.g. 8GB, 500MB, 1.5TiB"),
        ("select.minSizeBytes", "12", "or a size with its unit"),
        ("objective.deadlineSeconds", "soon", "e.g. 90s, 10m, 2h, 7d"),
        ("preTestSeconds", "2h", "60"),
        ("approvalTimeoutSeconds", "1s", "10"),
        ("chunkSizeMiB", "3MiB", "a power of two"),
        ("chunkSizeMiB", "1024KiB", "a power of two"),
    ],
)
def test_what_cannot_be_is_refused_with_field_value_and_remedy(path: str, text: str, remedy: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(asked(path, text), LIMITS)
    assert str(refused.value).startswith(f"$.{path}: ")
    assert remedy in str(refused.value)


def test_contract_and_code_have_the_same_patterns() -> None:
    keys = json.loads((CONTRACTS / "transfer-request.schema.json").read_text())["properties"]
    for name in ("minSizeBytes", "maxSizeBytes"):
        assert keys["select"]["properties"][name]["oneOf"][1]["pattern"] == SIZE
    assert keys["objective"]["properties"]["deadlineSeconds"]["oneOf"][1]["pattern"] == SPAN
    assert keys["approvalTimeoutSeconds"]["oneOf"][1]["pattern"] == SPAN
    assert re.fullmatch(keys["preTestSeconds"]["oneOf"][1]["pattern"], "60 s")


def test_a_schema_named_for_editors_changes_nothing() -> None:
    named = {"$schema": "./transfer-request.schema.json", **MINIMAL}
    assert SCHEMA.is_valid(named)
    assert parse_request(named, LIMITS) == parse_request(MINIMAL, LIMITS)
    with pytest.raises(InvalidRequest, match=r"\$schema"):
        parse_request({"$schema": 5, **MINIMAL}, LIMITS)
