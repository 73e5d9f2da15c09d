import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.seats.credentials import (
    MIRRORING,
    MOST_POLICY_CHARACTERS,
    PROBE,
    READING,
    WRITING,
    BucketPlace,
    Issued,
    SealingKey,
    SeatCredentials,
    literal,
    session_policy,
    too_long,
)

PLACE = BucketPlace("my-data", "backup/", "eu-west-1")


KEYS = ["arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"]


def statements(
    uses: tuple[Any, ...],
    place: BucketPlace = PLACE,
    *,
    keys: Sequence[str] = (),
    tags: bool = False,
    probes: bool = False,
) -> list[dict[str, Any]]:
    policy = session_policy("aws", place, uses, "nightly", keys=keys, tags=tags, probes=probes)
    found: list[dict[str, Any]] = json.loads(policy)["Statement"]
    return found


def test_a_dry_run_tries_one_key_and_writes_no_other() -> None:
    assert statements(READING, probes=True) == [
        *statements(READING),
        {
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:AbortMultipartUpload"],
            "Resource": "arn:aws:s3:::my-data/backup/.cpt-partial-survey",
        },
    ]


def test_a_source_reads_and_lists_below_its_prefix_and_no_more() -> None:
    assert statements(READING) == [
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:GetObjectVersion"],
            "Resource": "arn:aws:s3:::my-data/backup/*",
        },
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": "arn:aws:s3:::my-data",
            "Condition": {"StringLike": {"s3:prefix": "backup/*"}},
        },
    ]


def test_a_destination_writes_and_removes_its_own_notes_alone() -> None:
    objects, _, notes = statements(WRITING)
    assert "s3:PutObject" in objects["Action"]
    assert "s3:DeleteObject" not in objects["Action"]
    assert (notes["Action"], notes["Resource"]) == (
        "s3:DeleteObject",
        "arn:aws:s3:::my-data/backup/.cpt-partial-nightly/*",
    )


def test_a_mirror_removes_what_is_below_its_prefix() -> None:
    objects, listing = statements(MIRRORING)
    assert "s3:DeleteObject" in objects["Action"]
    assert listing["Action"] == "s3:ListBucket"


@pytest.mark.parametrize(
    ("uses", "probes", "actions"),
    [
        (READING, False, ["kms:Decrypt"]),
        (READING, True, ["kms:Decrypt", "kms:GenerateDataKey"]),
        (WRITING, False, ["kms:Decrypt", "kms:GenerateDataKey"]),
    ],
)
def test_a_bucket_under_a_customers_key_needs_that_key_and_no_other(
    uses: tuple[Any, ...], actions: list[str], *, probes: bool
) -> None:
    of_key = statements(uses, keys=KEYS, probes=probes)[-1]
    assert (of_key["Action"], of_key["Resource"]) == (actions, KEYS)
    assert not any("kms" in str(one["Action"]) for one in statements(uses, probes=probes))


def test_tags_are_written_where_they_are_asked_for() -> None:
    tagging = "s3:PutObjectTagging"
    assert not any(tagging in one["Action"] for one in statements(WRITING))
    assert [one["Resource"] for one in statements(WRITING, tags=True) if tagging in one["Action"]] == [
        "arn:aws:s3:::my-data/backup/*"
    ]
    tried = statements(READING, tags=True, probes=True)
    assert [one["Resource"] for one in tried if tagging in one["Action"]] == [f"arn:aws:s3:::my-data/backup/{PROBE}"]


def test_characters_that_mean_something_to_policies_stand_for_themselves() -> None:
    """Else `backup*/` would open the neighbour's `backup-of-others/`."""
    assert literal("a*b?c${d}/") == "a${*}b${?}c${$}{d}/"
    objects, listing = statements(READING, BucketPlace("my-data", "backup*/", "eu-west-1"))
    assert objects["Resource"] == "arn:aws:s3:::my-data/backup${*}/*"
    assert listing["Condition"] == {"StringLike": {"s3:prefix": "backup${*}/*"}}


def test_a_policy_is_ascii_and_says_how_long_it_may_be() -> None:
    text = session_policy("aws", BucketPlace("my-data", "Größe/", "eu-west-1"), WRITING, "nightly", keys=())
    assert text.isascii()
    assert json.loads(text)["Statement"][0]["Resource"].endswith("/Größe/*")
    long = BucketPlace("b" * 63, "p" * 359 + "/", "x")
    assert len(session_policy("aws-cn", long, WRITING, "t" * 80, keys=KEYS, tags=True)) < MOST_POLICY_CHARACTERS


@pytest.mark.parametrize("uses", [READING, WRITING, MIRRORING])
@pytest.mark.parametrize("letter", ["a", "ö", "*"])
def test_a_prefix_is_refused_just_where_its_policy_would_be(uses: tuple[Any, ...], letter: str) -> None:
    """The words say how much fits, of a dry run too."""
    said = too_long(BucketPlace("b" * 63, f"{letter * 800}/", "us-gov-west-1"), uses, KEYS, tags=True) or ""
    fits = int(said.partition(" fit: ")[0].rpartition(" ")[-1])
    each = len(json.dumps(literal(letter))) - 2
    longest = BucketPlace("b" * 63, f"{letter * ((fits - 1) // each)}/", "us-gov-west-1")
    assert too_long(longest, uses, KEYS, tags=True) is None
    policy = session_policy("aws-us-gov", longest, uses, "t" * 80, keys=KEYS, tags=True)
    dry = session_policy("aws-us-gov", longest, READING, "t" * 80, keys=KEYS, tags=True, probes="write" in uses)
    assert MOST_POLICY_CHARACTERS - 3 * 7 < max(len(policy), len(dry)) <= MOST_POLICY_CHARACTERS
    longer = replace(longest, prefix=f"{letter * ((fits - 1) // each + 1)}/")
    assert too_long(longer, uses, KEYS, tags=True) is not None


@pytest.mark.parametrize(
    "item",
    [
        None,
        {},
        {"epoch": 1},
        {"sealingPublicKey": "A" * 43 + "+"},
        {"epoch": True, "sealingPublicKey": "A" * 43},
        {"epoch": "1", "sealingPublicKey": "A" * 43},
        {"epoch": 1, "sealingPublicKey": ["A"]},
        {"epoch": 1, "sealingPublicKey": "A" * 42},
        {"epoch": 1, "sealingPublicKey": "A" * 44},
        {"epoch": 1, "sealingPublicKey": "é" * 43},
    ],
)
def test_what_is_no_key_is_none(item: dict[str, Any] | None) -> None:
    assert SealingKey.told(item) is None


def test_a_key_is_read_as_processes_write_it() -> None:
    assert SealingKey.told({"epoch": 65536, "sealingPublicKey": "A" * 43}) == SealingKey(b"\0" * 32, 65536)
    assert SealingKey.told({"sealingPublicKey": "_" * 42 + "8"}) == SealingKey(b"\xff" * 32)


def test_no_secret_is_in_what_python_says_of_credentials() -> None:
    keys = SeatCredentials("ASIAX", "hidden", "token", 1.0)
    assert not any(word in f"{keys!r} {keys}" for word in ("ASIAX", "hidden", "token"))


def test_an_item_is_written_and_read_alike() -> None:
    for issued in (Issued("sealed", 4600.0), Issued(refused="why")):
        assert Issued.of_item(issued.to_item()) == issued
    assert Issued.of_item({"epoch": 7, "document": "of an end"}) is None


def test_credentials_last_until_shortly_before_their_process_asks_again() -> None:
    issued = Issued("sealed", 4600.0)
    assert issued.lasts(1000.0)
    assert not issued.lasts(3500.0)
    assert not Issued(refused="why").lasts(1000.0)
