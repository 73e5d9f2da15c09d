import re

import pytest

from lambdas.core.documents import TRANSFER_ID
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake import starts
from lambdas.core.intake.starts import ObjectCreated, execution_name


def created(key: str, **more: str) -> ObjectCreated:
    stored = {"key": key, "size": 10, "sequencer": "0061", "etag": "e", **more}
    return ObjectCreated.from_document({"bucket": {"name": "b"}, "object": stored})


@pytest.mark.parametrize("label", ["nightly", "team a/täglich", "", "-_-", "x" * 500])
def test_a_name_serves_execution_and_transfer_whatever_it_is_made_from(label: str) -> None:
    name = execution_name(label, "k", "v")
    assert re.fullmatch(TRANSFER_ID, name)
    assert len(name) <= 80


def test_each_version_of_a_key_has_one_name() -> None:
    one = created("requests/team/nightly.json").execution_name
    assert one.startswith("team-nightly-")
    assert created("requests/team/nightly.json").execution_name == one
    assert created("requests/team/nightly.json", sequencer="0062").execution_name != one
    assert created("requests/team-nightly.json").execution_name != one
    versioned = created("requests/team/nightly.json", **{"version-id": "a"})
    assert (
        versioned.execution_name
        == created("requests/team/nightly.json", sequencer="9", **{"version-id": "a"}).execution_name
    )


def test_identities_do_not_run_together() -> None:
    assert execution_name("a", "bc", "d") != execution_name("a", "b", "cd")


@pytest.mark.parametrize(
    ("key", "ours"),
    [
        ("requests/a.json", True),
        ("requests/team/a.b.json", True),
        ("requests/a.started.json", False),
        ("requests/a.error.json", False),
        ("requests/a.txt", False),
        ("transfers/a/report.json", False),
    ],
)
def test_answers_and_other_objects_are_no_requests(key: str, ours: bool) -> None:
    assert starts.is_request(key) == ours


def test_answers_lie_beside_the_request_and_are_none_themselves() -> None:
    answers = starts.started_key("requests/a.json"), starts.error_key("requests/a.json")
    assert answers == ("requests/a.started.json", "requests/a.error.json")
    assert not any(map(starts.is_request, answers))


@pytest.mark.parametrize("body", [b"", b"{", b"\xff"])
def test_an_object_that_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="is not JSON in UTF-8"):
        starts.read_document(body)


def test_an_object_larger_than_an_execution_takes_is_refused() -> None:
    starts.refuse_size(262_144)
    with pytest.raises(InvalidRequest, match="262145 bytes; a request has 262144 at most"):
        starts.refuse_size(262_145)


def test_key_is_filled_in_wherever_a_template_has_a_text() -> None:
    template = {"name": "x", "source": {"paths": ["/mnt/{key}", 3]}, "preTest": False}
    assert starts.filled(template, "a/b.csv") == {
        "name": "x",
        "source": {"paths": ["/mnt/a/b.csv", 3]},
        "preTest": False,
    }
