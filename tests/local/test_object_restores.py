"""RestoreObject and what follows from it, as S3's API reference and user guide tell of them; a test has hours go by."""

from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.objects import refusal

BODY = b"what is archived"
STANDARD: dict[str, Any] = {"Days": 2, "GlacierJobParameters": {"Tier": "Standard"}}


@pytest.fixture
def deep(s3: Any, at: dict[str, str]) -> dict[str, str]:
    """An object in an archive."""
    s3.put_object(**at, Body=BODY, StorageClass="DEEP_ARCHIVE")
    return at


def ask(s3: Any, at: dict[str, str], **changes: Any) -> int:
    """The status of the answer."""
    answer = s3.restore_object(**at, RestoreRequest=STANDARD | changes)
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])


def listed(s3: Any, at: dict[str, str]) -> dict[str, Any]:
    answer = s3.list_objects_v2(Bucket=at["Bucket"], Prefix=at["Key"], OptionalObjectAttributes=["RestoreStatus"])
    found: dict[str, Any] = answer["Contents"][0].get("RestoreStatus", {})
    return found


def test_an_object_is_readable_once_it_is_restored_and_looks_say_so(
    s3: Any, cloud: LocalCloud, deep: dict[str, str]
) -> None:
    assert (listed(s3, deep), s3.head_object(**deep).get("Restore")) == ({}, None)
    assert ask(s3, deep) == 202
    assert s3.head_object(**deep)["Restore"] == 'ongoing-request="true"'
    assert listed(s3, deep) == {"IsRestoreInProgress": True}
    assert refusal(s3.restore_object, **deep, RestoreRequest=STANDARD) == ("RestoreAlreadyInProgress", 409)
    assert refusal(s3.get_object, **deep) == ("InvalidObjectState", 403)
    cloud.age_restores(12.1)
    said, found = s3.head_object(**deep)["Restore"], listed(s3, deep)
    assert said.startswith('ongoing-request="false", expiry-date="')
    assert found["IsRestoreInProgress"] is False
    assert s3.get_object(**deep)["Body"].read() == BODY
    assert s3.head_object(**deep)["StorageClass"] == "DEEP_ARCHIVE"


def test_a_copy_expires_after_its_days_and_another_request_extends_it(
    s3: Any, cloud: LocalCloud, deep: dict[str, str]
) -> None:
    ask(s3, deep)
    cloud.age_restores(12.1)
    assert ask(s3, deep, Days=5) == 200
    cloud.age_restores(5 * 24)
    assert s3.get_object(**deep)["Body"].read() == BODY
    cloud.age_restores(24)
    assert refusal(s3.get_object, **deep) == ("InvalidObjectState", 403)
    assert (listed(s3, deep), s3.head_object(**deep).get("Restore")) == ({}, None)
    assert ask(s3, deep) == 202


@pytest.mark.parametrize(
    ("kind", "tier", "hours"),
    [("GLACIER", "Expedited", 0.05), ("GLACIER", "Standard", 4), ("GLACIER", "Bulk", 8), ("DEEP_ARCHIVE", "Bulk", 48)],
)
def test_each_class_and_tier_takes_its_own_time(
    s3: Any, cloud: LocalCloud, at: dict[str, str], kind: str, tier: str, hours: float
) -> None:
    s3.put_object(**at, Body=BODY, StorageClass=kind)
    ask(s3, at, GlacierJobParameters={"Tier": tier})
    cloud.age_restores(hours * 0.5)
    assert refusal(s3.get_object, **at) == ("InvalidObjectState", 403)
    cloud.age_restores(hours)
    assert s3.get_object(**at)["Body"].read() == BODY


def test_an_object_that_is_written_again_is_not_restored(s3: Any, cloud: LocalCloud, deep: dict[str, str]) -> None:
    ask(s3, deep)
    cloud.age_restores(13)
    s3.put_object(**deep, Body=BODY, StorageClass="DEEP_ARCHIVE")
    assert "Restore" not in s3.head_object(**deep)
    assert refusal(s3.get_object, **deep) == ("InvalidObjectState", 403)


@pytest.mark.parametrize(
    "asked",
    [{"GlacierJobParameters": {"Tier": "Standard"}}, {"Days": 1, "GlacierJobParameters": {"Tier": "Instant"}}],
    ids=["without-days", "by-no-tier"],
)
def test_a_request_that_is_none_is_refused(s3: Any, deep: dict[str, str], asked: dict[str, Any]) -> None:
    assert refusal(s3.restore_object, **deep, RestoreRequest=asked) == ("MalformedXML", 400)
    assert refusal(s3.restore_object, **deep | {"Key": "none"}, RestoreRequest=STANDARD) == ("NoSuchKey", 404)
