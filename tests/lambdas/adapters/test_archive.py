"""What S3 says of archived objects, and what it is asked; a stub checks each request against S3's model."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lambdas.adapters.archive import S3Archive
from lambdas.core.ends.retrieval import Tier
from lambdas.core.errors import MissingPermission, RestoreRefused, Throttled
from lambdas.core.restores.rounds import ArchivedObject
from lambdas.core.seats.credentials import BucketPlace

ONE = ArchivedObject("cold/ä", 5, '"e"')
AT = {"Bucket": "from", "Key": "a/cold/ä", "ExpectedBucketOwner": "123456789012"}


class Archived:
    """An archive over a stub; `sessions`: how many clients were made."""

    def __init__(self, tier: Tier = "Standard") -> None:
        self.sessions = 0
        client = boto3.client("s3", "us-west-2", aws_access_key_id="a", aws_secret_access_key="b")
        self.stub = Stubber(client)
        self.stub.activate()

        def renew() -> Any:
            self.sessions += 1
            return client

        self.archive = S3Archive(BucketPlace("from", "a/", "us-west-2", "123456789012"), tier, renew)

    def answers(self, call: str, code: str | None = None, status: int = 400, **answer: Any) -> None:
        asked = answer.pop("asked", AT)
        if code is None:
            self.stub.add_response(call, answer, asked)
        else:
            self.stub.add_client_error(call, code, "S3 says", status, expected_params=asked)


@pytest.fixture
def archived() -> Archived:
    return Archived()


@pytest.mark.parametrize(
    ("head", "state"),
    [
        ({"StorageClass": "GLACIER"}, "archived"),
        ({"StorageClass": "DEEP_ARCHIVE", "Restore": 'ongoing-request="true"'}, "restoring"),
        (
            {
                "StorageClass": "GLACIER",
                "Restore": 'ongoing-request="false", expiry-date="Fri, 21 Dec 2026 00:00:00 GMT"',
            },
            "ready",
        ),
        ({"StorageClass": "GLACIER_IR"}, "ready"),
        ({}, "ready"),
        ({"StorageClass": "INTELLIGENT_TIERING", "ArchiveStatus": "DEEP_ARCHIVE_ACCESS"}, "archived"),
        (
            {
                "StorageClass": "INTELLIGENT_TIERING",
                "ArchiveStatus": "ARCHIVE_ACCESS",
                "Restore": 'ongoing-request="true"',
            },
            "restoring",
        ),
        ({"StorageClass": "GLACIER", "ETag": '"other"'}, "replaced"),
    ],
)
def test_a_look_says_how_far_an_object_is(archived: Archived, head: dict[str, Any], state: str) -> None:
    archived.answers("head_object", **{"ETag": '"e"', **head})
    assert archived.archive.look(ONE) == state


def test_what_is_gone_or_cannot_be_looked_at_is_told_apart(archived: Archived) -> None:
    archived.answers("head_object", "404", 404)
    assert archived.archive.look(ONE) == "gone"
    archived.answers("head_object", "403", 403)
    with pytest.raises(RestoreRefused, match=r"s3://from/a/cold/ä cannot be looked at: 403: S3 says"):
        archived.archive.look(ONE)


@pytest.mark.parametrize(
    ("storage_class", "wish"),
    [
        ("GLACIER", {"Days": 4, "GlacierJobParameters": {"Tier": "Bulk"}}),
        ("INTELLIGENT_TIERING", {"GlacierJobParameters": {"Tier": "Bulk"}}),
    ],
)
def test_a_request_has_tier_and_days_where_s3_takes_them(storage_class: str, wish: dict[str, Any]) -> None:
    archived = Archived("Bulk")
    archived.answers("restore_object", asked={**AT, "RestoreRequest": wish})
    archived.archive.ask(ONE, storage_class, 4)
    archived.stub.assert_no_pending_responses()


ASKED = {**AT, "RestoreRequest": {"Days": 1, "GlacierJobParameters": {"Tier": "Standard"}}}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("RestoreAlreadyInProgress", 409),
        ("ObjectAlreadyInActiveTierError", 403),
        ("InvalidObjectState", 403),
        ("NoSuchKey", 404),
    ],
)
def test_what_needs_no_request_any_more_is_fine(archived: Archived, code: str, status: int) -> None:
    archived.answers("restore_object", code, status, asked=ASKED)
    archived.archive.ask(ONE, "GLACIER", 1)


@pytest.mark.parametrize(
    ("code", "status", "error", "words"),
    [
        ("AccessDenied", 403, MissingPermission, "the setting `buckets` says restore of the entry"),
        (
            "GlacierExpeditedRetrievalNotAvailable",
            503,
            RestoreRefused,
            "write .*tier as 'Standard', or start again later",
        ),
        ("InvalidArgument", 400, RestoreRefused, "s3://from/a/cold/ä cannot be restored: InvalidArgument: S3 says"),
        ("SlowDown", 503, Throttled, "after all retries: SlowDown"),
    ],
)
def test_refusals_say_what_somebody_can_do(
    archived: Archived, code: str, status: int, error: type[Exception], words: str
) -> None:
    archived.answers("restore_object", code, status, asked=ASKED)
    with pytest.raises(error, match=words):
        archived.archive.ask(ONE, "GLACIER", 1)


def test_a_session_that_expires_is_renewed_once(archived: Archived) -> None:
    archived.answers("restore_object", "ExpiredToken", asked=ASKED)
    archived.answers("restore_object", asked=ASKED)
    archived.archive.ask(ONE, "GLACIER", 1)
    assert archived.sessions == 2
