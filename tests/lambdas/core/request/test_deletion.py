"""What a request may say of extras: refused, or not, before anything costs money."""

import copy
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.deletion import NO_EXTRAS, Extras, WouldDelete
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import IRELAND, WEST, request

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=("t3.small",))
DIGEST = "5c" * 32
CONFIRMED = {"delete": True, "confirmDelete": DIGEST}


def refusal(**keys: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        parse_request(request(**keys), LIMITS)
    return error.value.problems


@pytest.mark.parametrize(
    "keys",
    [
        {"delete": True, "dryRun": True},
        {"delete": True, "dryRun": True, "confirmDelete": DIGEST, "maxDelete": 5},
        CONFIRMED,
        {**CONFIRMED, "maxDelete": 0},
        {**CONFIRMED, "confirmDelete": "without-dry-run", "select": {"exclude": ["*.tmp"]}},
        {"delete": False},
    ],
)
def test_what_says_which_extras_go_is_accepted(keys: dict[str, Any]) -> None:
    parsed = parse_request(request(**keys), LIMITS)
    assert parsed.delete == keys["delete"]
    assert parsed.max_delete == keys.get("maxDelete", 1000)


def without_what_is_to_be_deleted() -> dict[str, Any]:
    document = copy.deepcopy(request())
    document["destination"]["path"] = "/./"
    return document["destination"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"delete": True}, ["$.confirmDelete: is missing", "dry run first", "'without-dry-run'"]),
        ({"confirmDelete": DIGEST}, [f"$.confirmDelete: '{DIGEST}', and $.delete is false", "leave confirmDelete out"]),
        ({"maxDelete": 7}, ["$.maxDelete: 7, and $.delete is false", "leave maxDelete out"]),
        ({**CONFIRMED, "maxDelete": -1}, ["$.maxDelete: -1 is not valid", "write 0 or more"]),
        ({**CONFIRMED, "maxDelete": "all"}, ['$.maxDelete: "all" is not valid']),
        ({**CONFIRMED, "confirmDelete": "yes"}, ['$.confirmDelete: "yes" is not valid', "64 hexadecimal digits"]),
        ({**CONFIRMED, "confirmDelete": DIGEST.upper()}, ["is not valid", "that a dry run reports"]),
        ({**CONFIRMED, "confirmDelete": True}, ["$.confirmDelete: true is not valid"]),
        ({**CONFIRMED, "delete": "yes"}, ['$.delete: "yes" is not valid']),
        ({**CONFIRMED, "onProblem": "skip"}, ["$.delete: true, and $.onProblem is 'skip'", "everything has arrived"]),
        ({**CONFIRMED, "profile": "measure"}, ["$.delete: true, and $.profile is 'measure'", "nothing is moved"]),
        ({**CONFIRMED, "select": {"pathsFrom": "/list"}}, ["$.select.pathsFrom is '/list'", "leave one of them out"]),
        ({**CONFIRMED, "destination": without_what_is_to_be_deleted()}, ["$.destination.path is '/./'", "machine"]),
    ],
)
def test_what_does_not_go_together_is_refused_with_field_and_value(keys: dict[str, Any], words: list[str]) -> None:
    (problem,) = refusal(**keys)
    for word in words:
        assert word in problem


@pytest.mark.parametrize(
    ("paths", "tops"),
    [
        (["/data/set"], ["set"]),
        (["/data/set/."], ["set"]),
        (["/data/a", "/data//b"], ["a", "b"]),
        (["/data/set/"], None),
        (["/data/a", "/data/b/"], None),
    ],
)
def test_a_path_with_a_slash_mirrors_all_of_the_destination_and_others_their_own_name(
    paths: list[str], tops: list[str] | None
) -> None:
    document = request()
    document["source"]["paths"] = paths
    assert parse_request(document, LIMITS).source.tops == tops


def test_extras_are_told_in_numbers_and_too_many_are_noticed() -> None:
    some = Extras(files=2, directories=1, symlinks=1, bytes=1234, digest=DIGEST)
    assert some.words() == "4 entries (2 files of 1,234 bytes, 1 directory, 1 link)"
    assert [WouldDelete.of(some, most, "s3://b/extras/").refused for most in (3, 4)] == [True, False]
    assert WouldDelete.of(NO_EXTRAS, 0, "s3://b/extras/").to_document() == {
        "files": 0,
        "directories": 0,
        "symlinks": 0,
        "bytes": 0,
        "maxDelete": 0,
        "digest": NO_EXTRAS.digest,
    }
