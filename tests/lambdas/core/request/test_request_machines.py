"""A request names one machine of an end, or several."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import IRELAND, WEST, request

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=("t3.small", "t3.medium"))


def several(source: dict[str, Any], destination: dict[str, Any], **changes: Any) -> list[str]:
    document = request(**changes)
    for end, keys in (("source", source), ("destination", destination)):
        document[end] = {key: value for key, value in document[end].items() if key != "instanceId"} | keys
    try:
        parse_request(document, LIMITS)
    except InvalidRequest as error:
        return error.problems
    return []


def ids(letter: str, count: int) -> list[str]:
    return [f"i-0{letter * 14}{at:02x}" for at in range(count)]


A, B = {"instanceId": "i-0aaaaaaaaaaaaaa00"}, {"instanceId": "i-0bbbbbbbbbbbbbb00"}


@pytest.mark.parametrize(
    ("source", "destination", "changes", "words"),
    [
        ({"instanceIds": ids("a", 2)}, B, {}, None),
        ({"instanceIds": ids("a", 6)}, {"instanceIds": ids("b", 6)}, {}, None),
        ({"instanceIds": ids("a", 11)}, B, {}, None),
        ({}, B, {}, "$.source.instanceId: is missing; it is required, or instanceIds with several machines"),
        (A | {"instanceIds": ids("a", 2)}, B, {}, "instanceIds names machines as well; leave one of them out"),
        ({"instanceIds": ids("a", 1)}, B, {}, "$.source.instanceIds: "),
        ({"instanceIds": [*ids("a", 2), *ids("a", 1)]}, B, {}, "'i-0aaaaaaaaaaaaaa00' is named twice"),
        (
            {"instanceIds": ids("a", 7)},
            {"instanceIds": ids("b", 6)},
            {},
            "$.source.instanceIds: source and destination have 13 machines together; name 12 in all at most",
        ),
        (
            {"instanceIds": ids("a", 2)},
            {"instanceIds": [*ids("b", 1), ids("a", 2)[1]]},
            {},
            "$.destination.instanceIds[1]: 'i-0aaaaaaaaaaaaaa01' is a machine of the source as well; name another",
        ),
        (
            A,
            {"instanceIds": ids("b", 2)},
            {"profile": "measure"},
            "$.destination.instanceIds: 2 machines, and $.profile is 'measure'",
        ),
        (
            A,
            {"instanceIds": ids("b", 2)},
            {"relays": {"pairs": 2, "existing": [ids("b", 2)[1]]}},
            "$.relays.existing[0]: 'i-0bbbbbbbbbbbbbb01' is an end of this transfer",
        ),
    ],
)
def test_machines_of_an_end_are_one_or_several_and_all_different(
    source: dict[str, Any], destination: dict[str, Any], changes: dict[str, Any], words: str | None
) -> None:
    found = several(source, destination, **changes)
    if words is None:
        assert found == []
    else:
        assert any(words in problem for problem in found), found
