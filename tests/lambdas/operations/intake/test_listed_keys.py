"""A list of keys is checked before anything is started, and shared with those who list the source."""

import pytest

from lambdas.core.ends import key_list
from lambdas.core.ends.key_list import KeyEntry, list_key, read, written
from lambdas.core.errors import SurveyProblem
from lambdas.operations.intake import listed_keys
from tests.lambdas.builders import WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied

FOLDER = "ends/first/keys/"


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def shared(cloud: Cloud, body: bytes, *, name: str = "", put: bool = True) -> int | None:
    name = name or list_key(body)
    if put:
        cloud.objects.put(name, body)
    source = {"kind": "bucket", "bucket": "from", "prefix": "a/", "region": WEST, "keys": {"manifest": name}}
    return listed_keys.share(cloud.world, copied(cloud, source=source), FOLDER)


def test_a_list_is_shared_in_parts_that_end_where_lines_do(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_list.parts, "__defaults__", (100,))
    keys = [f"a/{number:04}" for number in range(20)]
    body = written(KeyEntry(key=key, size=7) for key in keys)
    # A line has 26 bytes, so that a part has four of them.
    assert shared(cloud, body) == 5
    parts = [cloud.objects.objects[listed_keys.part_key(FOLDER, number)] for number in range(5)]
    assert b"".join(parts) == body
    assert [entry.key for part in parts for entry in read(part.splitlines())] == keys


def test_a_request_without_a_list_shares_nothing(cloud: Cloud) -> None:
    assert listed_keys.share(cloud.world, copied(cloud), FOLDER) is None
    assert not cloud.objects.keys(FOLDER)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "it names no key"),
        (b'{"key":"a/x"}\n{"kee":"a/y"}\n', r"line 2: \$.key: Field required; \$.kee: Extra"),
        (b'{"key":"a/x"}\nnothing\n', "line 2"),
        (b'{"key":"a/x"}\n\n{"key":"a/y"}\n', "line 2"),
        (b'{"key":"b/x"}\n', r"line 1: 'b/x' does not begin with the source's prefix 'a/'"),
        (b'{"key":"a/y"}\n{"key":"a/x"}\n', "line 2: 'a/x' follows 'a/y'; sort the keys"),
        (b'{"key":"a/x"}\n{"key":"a/x"}\n', "line 2: 'a/x' follows 'a/x'"),
    ],
)
def test_what_is_no_list_is_refused_with_its_line(cloud: Cloud, body: bytes, why: str) -> None:
    with pytest.raises(SurveyProblem, match=rf"^\$.source.keys.manifest: 'keys/[0-9a-f]+.ndjson': {why}"):
        shared(cloud, body)
    assert not cloud.objects.keys(FOLDER)


def test_a_list_whose_bytes_are_not_those_of_its_name_is_refused(cloud: Cloud) -> None:
    with pytest.raises(SurveyProblem, match=r"its bytes have the SHA-256 [0-9a-f]{64}; write the list under that name"):
        shared(cloud, b'{"key":"a/x"}\n', name=list_key(b"another"))


def test_a_list_that_is_not_there_is_refused_with_its_place(cloud: Cloud) -> None:
    with pytest.raises(SurveyProblem, match=r"s3://.+/keys/[0-9a-f]+.ndjson is not there; write the list first"):
        shared(cloud, b'{"key":"a/x"}\n', put=False)


def test_a_list_that_no_function_could_hold_is_refused_unread(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_keys, "MOST_LIST_BYTES", 10)
    with pytest.raises(SurveyProblem, match="it has 14 bytes, and 10 are the most; make several lists of it"):
        shared(cloud, b'{"key":"a/x"}\n')
