"""What a request says of replacing, and cannot mean together."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import request

LIMITS = Limits(regions=["us-west-2", "eu-west-1"], max_pairs=8, instance_types=[])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"overwrite": "never", "preserve": {"hardLinks": True}},
            "$.overwrite: 'never', and $.preserve.hardLinks is true",
        ),
        ({"resendAll": True, "overwrite": "if-newer"}, "$.resendAll: true, and $.overwrite is 'if-newer'"),
        ({"resendAll": True, "compare": "digest"}, "$.resendAll: true, and $.compare is 'digest'"),
        ({"resendAll": True, "resume": True, "name": "nightly"}, "$.resendAll: true, and $.resume is True"),
    ],
)
def test_what_contradicts_each_other_is_refused_with_both_keys(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(request(**asked), LIMITS)
    (problem,) = refused.value.problems
    assert problem.startswith(words)
    assert problem.endswith("leave one of them out")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"keepReplaced": ".replaced", "overwrite": "never"}, "nothing is replaced or removed"),
        ({"keepReplaced": "set"}, "a source path lands as 'set'"),
        ({"keepReplaced": "SET"}, "a source path lands as 'set'"),
        (
            {
                "keepReplaced": ".old",
                "source": {**request()["source"], "paths": [{"path": "/data/set", "as": ".old/set"}]},
            },
            "a source path lands as '.old/set'",
        ),
        ({"keepReplaced": "/archive/today"}, "e.g. '.replaced'"),
        ({"keepReplaced": ".."}, "e.g. '.replaced'"),
        ({"keepReplaced": ".cpt-partial-nightly"}, "does not begin with '.cpt-', e.g. '.replaced'"),
    ],
)
def test_a_directory_in_which_nothing_can_be_kept_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(request(**asked), LIMITS)
    (problem,) = refused.value.problems
    assert problem.startswith("$.keepReplaced: ")
    assert words in problem


@pytest.mark.parametrize(
    "asked",
    [
        {"keepReplaced": ".replaced"},
        {"keepReplaced": "old", "overwrite": "never", "delete": True, "confirmDelete": "without-dry-run"},
        {"overwrite": "never", "delete": True, "confirmDelete": "without-dry-run"},
        {"overwrite": "if-newer", "compare": "digest", "resume": True, "name": "nightly"},
        {"overwrite": "always", "preserve": {"hardLinks": True}},
        {"resendAll": True, "preserve": {"hardLinks": True}, "links": "skip", "dryRun": True},
    ],
)
def test_what_goes_together_is_accepted(asked: dict[str, Any]) -> None:
    assert parse_request(request(**asked), LIMITS).overwrite == asked.get("overwrite", "always")
