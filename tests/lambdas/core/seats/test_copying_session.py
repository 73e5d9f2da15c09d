"""A session that copies reaches the transfer's two prefixes, each in its own way, and nothing beside them."""

import json
from fnmatch import fnmatchcase

import pytest

from lambdas.core.seats.copying_session import Keys, session_policy
from lambdas.core.seats.credentials import MOST_POLICY_CHARACTERS, BucketPlace

SOURCE, DESTINATION = BucketPlace("from", "a/b*/", "us-west-2"), BucketPlace("into", "c/", "eu-west-1")

KEYS = ("arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",)


def allowed(action: str, resource: str) -> bool:
    policy = json.loads(session_policy("aws", SOURCE, DESTINATION, Keys()))
    return any(
        f"s3:{action}" in one["Action"]
        and fnmatchcase(f"arn:aws:s3:::{resource}", one["Resource"].replace("${*}", "[*]"))
        for one in policy["Statement"]
        if "Condition" not in one
    )


@pytest.mark.parametrize(
    ("action", "resource", "is_allowed"),
    [
        ("GetObject", "from/a/b*/x", True),
        ("GetObjectVersion", "from/a/b*/x", True),
        ("GetObject", "from/a/bc/x", False),
        ("GetObject", "from/a/x", False),
        ("GetObject", "other/a/b*/x", False),
        ("PutObject", "from/a/b*/x", False),
        ("DeleteObject", "from/a/b*/x", False),
        ("PutObject", "into/c/x", True),
        ("AbortMultipartUpload", "into/c/x", True),
        ("PutObject", "into/cc/x", False),
        ("PutObject", "into/x", False),
        ("DeleteObject", "into/c/x", False),
        ("PutObject", "from/c/x", False),
    ],
)
def test_a_session_reaches_its_two_prefixes(action: str, resource: str, *, is_allowed: bool) -> None:
    assert allowed(action, resource) == is_allowed


def test_what_is_seen_beside_the_prefixes_is_names_of_unfinished_uploads() -> None:
    policy = json.loads(session_policy("aws", SOURCE, DESTINATION, Keys()))
    whole = [one for one in policy["Statement"] if not one["Resource"].endswith("*") and "Condition" not in one]
    assert [(one["Action"], one["Resource"]) for one in whole] == [
        ("s3:ListBucketMultipartUploads", "arn:aws:s3:::into")
    ]


def test_listings_are_of_the_prefixes_alone() -> None:
    policy = json.loads(session_policy("aws", SOURCE, DESTINATION, Keys()))
    listing = [one for one in policy["Statement"] if "Condition" in one]
    assert [one["Condition"]["StringLike"]["s3:prefix"] for one in listing] == ["a/b${*}/*", "c/*"]


def test_long_prefixes_fit_into_a_session() -> None:
    """A prefix stands in the policy twice: longer ones at both ends are refused before anything is done."""
    long = BucketPlace("b" * 63, "p" * 200 + "/", "us-west-2")
    assert len(session_policy("aws-us-gov", long, long, Keys(KEYS, KEYS))) <= MOST_POLICY_CHARACTERS


def test_keys_are_those_of_each_side() -> None:
    policy = json.loads(session_policy("aws", SOURCE, DESTINATION, Keys(["one", "both"], ["both"])))
    of_keys = {tuple(one["Resource"]): one["Action"] for one in policy["Statement"] if "kms" in str(one["Action"])}
    assert of_keys == {("both",): ["kms:Decrypt", "kms:GenerateDataKey"], ("one",): ["kms:Decrypt"]}


def test_the_sources_tags_are_read_only_where_copies_get_them() -> None:
    assert allowed("GetObjectTagging", "from/a/b*/x")
    policy = session_policy("aws", SOURCE, DESTINATION, Keys(), own_tags=True)
    assert "s3:GetObjectTagging" not in policy
    assert "s3:PutObjectTagging" in policy
