"""What the doctor says of the buckets that transfers may use, from S3's own answers; it changes none of them."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from cli.aws import Aws
from cli.doctor.buckets import Seen, buckets, ends_uploads, judge
from cli.doctor.finding import Finding
from lambdas.core.ends.allowed_buckets import AllowedBucket
from local.cloud import LocalCloud
from local.config import LocalConfig

IRELAND = "eu-west-1"
WRITTEN = AllowedBucket.parse(f"w {IRELAND} mine/out/")
READ = AllowedBucket.parse(f"r {IRELAND} mine/")
GOOD = Seen(region=IRELAND, is_ours=True, aborts=True)
KEY = "arn:aws:kms:eu-west-1:000000000000:key/one"


def said(entry: AllowedBucket, seen: Seen) -> list[tuple[str, str]]:
    return [(one.status, one.message) for one in judge(entry, seen)]


def test_a_bucket_that_bears_everything_is_fine() -> None:
    assert said(WRITTEN, GOOD) == [("ok", "it is in eu-west-1, and bears what transfers do there")]


@pytest.mark.parametrize(
    ("entry", "changes", "status", "words"),
    [
        (WRITTEN, {"region": "us-west-2"}, "failed", "the bucket is in us-west-2, not in eu-west-1"),
        (READ, {"payer": "Requester", "is_ours": False}, "failed", "requester pays"),
        (WRITTEN, {"key": KEY}, "failed", "a key of KMS that the role may not use"),
        (WRITTEN, {"lock": "compliance retention of 30 days"}, "warning", "each object gets a compliance retention"),
        (WRITTEN, {"aborts": False}, "warning", "no lifecycle rule ends uploads that nobody completes"),
        (READ, {"is_ours": False}, "failed", "another account owns it"),
    ],
)
def test_what_fails_a_transfer_or_costs_is_named(
    entry: AllowedBucket, changes: dict[str, Any], status: str, words: str
) -> None:
    first, *_ = said(entry, GOOD._replace(**changes))
    assert first[0] == status
    assert words in first[1]


@pytest.mark.parametrize("changes", [{"lock": "governance retention of 1 years"}, {"aborts": False}])
def test_a_source_is_not_told_of_what_only_writing_meets(changes: dict[str, Any]) -> None:
    assert [status for status, _ in said(READ, GOOD._replace(**changes))] == ["ok"]


def test_an_owner_pays_for_its_own_requests_and_a_key_that_is_named_may_be_used() -> None:
    named = AllowedBucket.parse(f"w {IRELAND} mine/out/ key=123456789012/1234abcd")
    assert [status for status, _ in said(named, GOOD._replace(payer="Requester", key=KEY))] == ["ok"]


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ({"Filter": {}}, True),
        ({"Filter": {"Prefix": "out/"}}, True),
        ({"Prefix": "out/2026/"}, False),
        ({"Filter": {"And": {"Prefix": "other/", "ObjectSizeLessThan": 5}}}, False),
        ({"Filter": {}, "Status": "Disabled"}, False),
        ({"Filter": {}, "AbortIncompleteMultipartUpload": None}, False),
    ],
)
def test_a_lifecycle_rule_counts_for_what_it_is_about(rule: dict[str, Any], *, ends: bool) -> None:
    whole = {"Status": "Enabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 40}, **rule}
    assert ends_uploads(whole, "out/") == ends


class Account:
    """What the checks ask of `Aws`."""

    region = IRELAND

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud

    def client(self, service: str, region: str = IRELAND) -> Any:
        return self._cloud.client(service, region)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    config = LocalConfig.model_validate({"port": 0})
    with LocalCloud(config, tmp_path_factory.mktemp("cloud")) as cloud:
        place: Any = {"CreateBucketConfiguration": {"LocationConstraint": IRELAND}}
        s3 = cloud.client("s3", IRELAND)
        s3.create_bucket(Bucket="plain", **place)
        s3.create_bucket(Bucket="strict", ObjectLockEnabledForBucket=True, **place)
        s3.put_bucket_request_payment(Bucket="strict", RequestPaymentConfiguration={"Payer": "Requester"})
        retention: Any = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 7}}
        s3.put_object_lock_configuration(
            Bucket="strict", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": retention}
        )
        encrypted: Any = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}}
        s3.put_bucket_encryption(Bucket="strict", ServerSideEncryptionConfiguration={"Rules": [encrypted]})
        yield cloud


def looked_at(cloud: LocalCloud, *entries: str) -> list[Finding]:
    return list(buckets(cast(Aws, Account(cloud)), tuple(map(AllowedBucket.parse, entries))))


def test_what_s3_says_of_a_bucket_is_what_is_judged(cloud: LocalCloud) -> None:
    mine = [f"w {IRELAND} {place}" for place in ("plain/", "strict/", "absent/")]
    found = looked_at(cloud, *mine, "r us-west-2 plain/")
    assert [(one.about, one.status) for one in found] == [
        ("s3://plain/", "warning"),
        ("s3://strict/", "failed"),
        ("s3://strict/", "warning"),
        ("s3://strict/", "warning"),
        ("s3://absent/", "failed"),
        ("s3://plain/", "failed"),
    ]
    words = [one.message for one in found]
    assert "no lifecycle rule" in words[0]
    assert "key of KMS" in words[1]
    assert "governance retention of 7 days" in words[2]
    assert "no lifecycle rule" in words[3]
    assert words[4] == "there is no such bucket"
    assert words[5] == "the bucket is in eu-west-1, not in us-west-2"


def test_the_local_cloud_says_who_pays_as_s3_does(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3", IRELAND)
    payers = [s3.get_bucket_request_payment(Bucket=name)["Payer"] for name in ("plain", "strict")]
    assert payers == ["BucketOwner", "Requester"]


def test_a_deployment_without_buckets_says_so(cloud: LocalCloud) -> None:
    (only,) = looked_at(cloud)
    assert (only.status, only.message) == ("ok", "no bucket may be an end of a transfer")
