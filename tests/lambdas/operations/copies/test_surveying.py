from collections.abc import Callable
from dataclasses import replace

import pytest

from lambdas.core.errors import EmptySource, SurveyProblem
from lambdas.operations.copies.surveying import survey
from tests.lambdas.builders import ARN, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied, run
from tests.lambdas.memory.buckets import MemoryBuckets


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def test_the_first_round_is_begun_with_as_many_functions_as_may_copy(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    found = survey(cloud.world, copied(cloud))
    assert (found.number, found.units, found.done, found.width) == (0, 0, False, 5)


def test_what_cannot_be_read_or_written_is_told_before_anything_is_copied(cloud: Cloud) -> None:
    cloud.buckets.refusals = ["$.source: s3://from/a/ cannot be listed: NoSuchBucket: no"]
    with pytest.raises(SurveyProblem, match="NoSuchBucket"):
        survey(cloud.world, copied(cloud))


def test_an_empty_source_is_told_or_refused_as_the_request_says(cloud: Cloud) -> None:
    transfer = copied(cloud)
    survey(cloud.world, transfer)
    assert run(cloud, transfer) == {"verified": True, "files": 0}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.empty_source == "s3://from/a/ has no object"
    with pytest.raises(EmptySource):
        survey(cloud.world, copied(cloud, ARN.replace("first", "second"), emptySource="fail"))


def test_prefixes_that_no_session_can_be_narrowed_to_are_refused_by_name(cloud: Cloud) -> None:
    source = {"kind": "bucket", "bucket": "from", "prefix": "p" * 800 + "/", "region": WEST}
    with pytest.raises(SurveyProblem, match="shorter prefixes"):
        survey(cloud.world, copied(cloud, source=source))


def test_a_function_has_a_session_that_reaches_the_two_prefixes_alone(cloud: Cloud) -> None:
    """What the world is handed asks for it: the twin of the buckets has no session."""
    asked: list[object] = []

    def opened(_source: object, _destination: object, _written: object, session: Callable[[], object]) -> MemoryBuckets:
        asked.append(session())
        return cloud.buckets

    world = replace(cloud.world, buckets=opened)
    cloud.buckets.put("x", "x")
    survey(world, copied(cloud))
    ((role, name, policy, seconds),) = cloud.sessions.asked
    assert (role, name, seconds) == ("arn:aws:iam::000000000000:role/cpt-buckets", "copies-first", 3600)
    resources = [one["Resource"] for one in policy["Statement"] if one["Resource"].endswith("*")]
    assert resources == ["arn:aws:s3:::from/a/*", "arn:aws:s3:::into/b/*"]
