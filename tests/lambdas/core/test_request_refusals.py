"""Each key of a request with each kind of wrong value: refused by its field, with value and what would be right."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import IRELAND, WEST
from tests.paths import CONTRACTS

SCHEMA: dict[str, Any] = json.loads((CONTRACTS / "transfer-request.schema.json").read_text())
GOOD = CONTRACTS / "examples/good/transfer-request"
# Where a key stands in none of them, it is put into the first.
EXAMPLES = [json.loads(path.read_text()) for path in (GOOD / "minimal.json", *sorted(GOOD.glob("*.json")))]
LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=64, instance_types=("t3.small", "t3.medium"))
VALUES: tuple[Any, ...] = ("text", "", -1, 0, 1.5, 10**9, True, None, [], [[]], {}, {"unknown": 1})
RIGHT = re.compile(r".+ is not valid; .+|is missing; .+|is not a known key; .+|null is not allowed; .+")

Path = tuple[str | int, ...]


def keys(schema: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """The way to every key, and to the first item of every list."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if path:
        yield path
    for key, inner in schema.get("properties", {}).items():
        yield from keys(inner, (*path, key))
    for alternative in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from keys(alternative, path)
    if isinstance(schema.get("items"), dict):
        yield from keys(schema["items"], (*path, 0))


def leads_to(document: Any, path: Path) -> bool:
    """Whether the key stands there."""
    for key in path:
        held = document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
        if key not in held:
            return False
        document = document[key]
    return True


def having(path: Path, value: Any) -> dict[str, Any]:
    """A good request, but for this value there."""
    request: dict[str, Any] = copy.deepcopy(next((one for one in EXAMPLES if leads_to(one, path)), EXAMPLES[0]))
    place: Any = request
    for key, following in pairwise(path):
        if not leads_to(place, (key, following)):
            place[key] = [None] if following == 0 else {}
        place = place[key]
    place[path[-1]] = value
    return request


@cache
def wrong() -> dict[Path, list[dict[str, Any]]]:
    """By key the requests that the schema refuses since this key has a wrong value."""
    validator = Draft202012Validator(SCHEMA)
    of = {path: [having(path, value) for value in VALUES] for path in dict.fromkeys(keys(SCHEMA))}
    return {path: [each for each in requests if not validator.is_valid(each)] for path, requests in of.items()}


def written(path: Path) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


@pytest.mark.parametrize("path", wrong(), ids=written)
def test_a_wrong_value_is_refused_by_its_field_with_what_would_be_right(path: Path) -> None:
    assert len(wrong()[path]) >= 8
    for request in wrong()[path]:
        with pytest.raises(InvalidRequest) as refused:
            parse_request(request, LIMITS)
        lines = [line.partition(": ") for line in refused.value.problems]
        # What leads there may lack something else too.
        assert any(field.startswith(written(path)) or written(path).startswith(field) for field, _, _ in lines), lines
        assert [rest for _, _, rest in lines if not RIGHT.match(rest)] == []


def test_it_is_tried_with_hundreds_of_requests() -> None:
    assert sum(map(len, wrong().values())) >= 900
