"""What is wrong with a request is said in our words."""

from collections.abc import Iterator
from typing import Any

from lambdas.core.request.problems import PATTERNS
from lambdas.core.request.replacing import KEEP_NAME
from lambdas.core.request.request import TransferRequest


def _patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(pattern := schema.get("pattern"), str):
            yield pattern
        for value in schema.values():
            yield from _patterns(value)
    if isinstance(schema, list):
        for value in schema:
            yield from _patterns(value)


def test_every_pattern_of_a_request_has_words_for_what_would_be_right() -> None:
    found = set(_patterns(TransferRequest.model_json_schema()))
    assert len(found) > 10
    # What is right for it is said of its field.
    assert found - PATTERNS.keys() == {KEEP_NAME}
