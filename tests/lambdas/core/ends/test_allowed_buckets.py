import pytest

from lambdas.core.ends.allowed_buckets import AllowedBucket, keys_of, owner_of, refusal

ALLOWED = [
    AllowedBucket.parse("r us-west-2 archive/"),
    AllowedBucket.parse("rw eu-west-1 my-data/backup/ key=123456789012/1234abcd"),
    AllowedBucket.parse("rwd eu-west-1 my-data/mirror/"),
]

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd"


def test_an_entry_is_read_as_the_environment_has_it() -> None:
    assert ALLOWED[1] == AllowedBucket("my-data", "backup/", "eu-west-1", frozenset({"read", "write"}), KEY)
    assert ALLOWED[0] == AllowedBucket("archive", "", "us-west-2", frozenset({"read"}))


@pytest.mark.parametrize(
    ("bucket", "prefix", "region", "uses"),
    [
        ("archive", "", "us-west-2", ["read"]),
        ("archive", "any/below/", "us-west-2", ["read"]),
        ("my-data", "backup/", "eu-west-1", ["write"]),
        ("my-data", "backup/2026/", "eu-west-1", ["read"]),
        ("my-data", "mirror/", "eu-west-1", ["write", "delete"]),
    ],
)
def test_what_the_settings_name_may_be_used_so_and_all_below_it(
    bucket: str, prefix: str, region: str, uses: list[str]
) -> None:
    assert refusal(ALLOWED, bucket, prefix, region, uses) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bucket", "prefix", "region", "uses", "words"),
    [
        ("archive", "", "us-west-2", ["write"], "may not write below s3://archive/"),
        ("my-data", "", "eu-west-1", ["read"], "may not touch s3://my-data/; its setting `buckets` has s3://archive/"),
        ("my-data", "back/", "eu-west-1", ["read"], "may not touch s3://my-data/back/"),
        ("my-data", "backup2/", "eu-west-1", ["read"], "may not touch"),
        ("my-data", "backup/", "eu-west-1", ["write", "delete"], "may not write and delete below"),
        ("other", "backup/", "eu-west-1", ["read"], "may not touch s3://other/backup/"),
        ("my-data", "backup/", "us-west-2", ["read"], "is in eu-west-1"),
    ],
)
def test_all_else_is_refused_in_words(bucket: str, prefix: str, region: str, uses: list[str], words: str) -> None:
    assert words in (refusal(ALLOWED, bucket, prefix, region, uses) or "")  # type: ignore[arg-type]


def test_a_deployment_without_the_setting_says_where_to_write_it() -> None:
    assert "docs/deploy.md" in (refusal([], "my-data", "", "eu-west-1", ["read"]) or "")


def test_two_entries_are_not_added_up_to_one_that_nobody_wrote() -> None:
    apart = [AllowedBucket.parse("w eu-west-1 my-data/"), AllowedBucket.parse("rwd eu-west-1 my-data/mirror/")]
    assert refusal(apart, "my-data", "backup/", "eu-west-1", ["write", "delete"]) is not None


def test_a_key_is_written_once_and_an_owner_wherever_it_is_another_account() -> None:
    read = AllowedBucket.parse_all(
        ["r cn-north-1 a/ key=123456789012/k owner=111122223333", "w cn-north-1 a/b/ key=#0"]
    )
    assert [(one.key, one.owner) for one in read] == [
        ("arn:aws-cn:kms:cn-north-1:123456789012:key/k", "111122223333"),
        ("arn:aws-cn:kms:cn-north-1:123456789012:key/k", None),
    ]
    assert [owner_of(read, "a", prefix) for prefix in ("", "b/")] == ["111122223333", "111122223333"]
    assert owner_of(read, "other", "") is None


def test_a_session_gets_the_keys_of_what_may_lie_below_its_prefix() -> None:
    entries = AllowedBucket.parse_all(
        ["rw eu-west-1 a/ key=123456789012/all", "rw eu-west-1 a/b/ key=123456789012/below", "r eu-west-1 c/"]
    )
    keys = {prefix: [key.rpartition("/")[2] for key in keys_of(entries, "a", prefix)] for prefix in ("", "b/", "d/")}
    assert keys == {"": ["all", "below"], "b/": ["all", "below"], "d/": ["all"]}
    assert keys_of(entries, "c", "") == ()
