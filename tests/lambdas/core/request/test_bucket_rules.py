"""Requests with a bucket at an end: all pairs of kinds, and what a bucket has not, each refused by its name."""

from itertools import product
from typing import Any

import pytest

from lambdas.core.ends.bucket import partition_of_region
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=())
MACHINE = {"instanceId": SOURCE_ID, "region": WEST, "paths": ["/data"]}
MACHINES = {"instanceIds": [SOURCE_ID, "i-0aaaaaaaaaaaaaaa2"], "region": WEST, "paths": ["/data"]}
BUCKET = {"kind": "bucket", "bucket": "my-data", "prefix": "set/", "region": WEST}
SOURCES: dict[str, dict[str, Any]] = {"machine": MACHINE, "machines": MACHINES, "bucket": BUCKET}
THERE = {"instanceId": DESTINATION_ID, "region": IRELAND, "path": "/restore"}
ALL_THERE = {"instanceIds": [DESTINATION_ID, "i-0bbbbbbbbbbbbbbb3"], "region": IRELAND, "path": "/restore"}
BACKUPS = {"kind": "bucket", "bucket": "my-backups", "prefix": "set/", "region": IRELAND}
DESTINATIONS: dict[str, dict[str, Any]] = {"machine": THERE, "machines": ALL_THERE, "bucket": BACKUPS}


def parsed(source: object, destination: object, **keys: Any) -> TransferRequest:
    return parse_request({"source": source, "destination": destination, **keys}, LIMITS)


def refused(source: object, destination: object, **keys: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        parsed(source, destination, **keys)
    return error.value.problems


@pytest.mark.parametrize(("source", "destination"), list(product(SOURCES, DESTINATIONS)))
def test_each_of_the_nine_pairs_is_accepted(source: str, destination: str) -> None:
    found = parsed(SOURCES[source], DESTINATIONS[destination])
    assert (found.source.kind, found.destination.kind) == (source.rstrip("s"), destination.rstrip("s"))


@pytest.mark.parametrize("bucket_at", ["source", "destination"])
def test_more_machines_than_a_transfer_can_name_twice_are_refused(bucket_at: str) -> None:
    def ends(count: int) -> tuple[dict[str, Any], dict[str, Any]]:
        machines = [f"i-{number:017x}" for number in range(count)]
        if bucket_at == "source":
            return BUCKET, {**ALL_THERE, "instanceIds": machines}
        return {**MACHINES, "instanceIds": machines}, BACKUPS

    assert parsed(*ends(6))
    side = "destination" if bucket_at == "source" else "source"
    assert refused(*ends(7)) == [
        f"$.{side}.instanceIds: 7 machines, and $.{bucket_at} is a bucket, so that each of them sends and receives; "
        "name 6 at most"
    ]


@pytest.mark.parametrize("bucket_at", ["source", "destination"])
@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("profile", {"profile": "measure"}),
        ("preserve.hardLinks", {"preserve": {"hardLinks": True}}),
        ("preserve.sparse", {"preserve": {"sparse": True}}),
        ("preserve.xattrs", {"preserve": {"xattrs": True}}),
        ("preserve.acls", {"preserve": {"acls": True}}),
        ("preserve.specialFiles", {"preserve": {"specialFiles": True}}),
        ("preserve.owners", {"preserve": {"owners": "names"}}),
    ],
)
def test_what_a_bucket_has_not_is_refused_at_either_end(bucket_at: str, key: str, keys: dict[str, Any]) -> None:
    ends = (BUCKET, THERE) if bucket_at == "source" else (MACHINE, BACKUPS)
    (problem,) = refused(*ends, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert f"$.{bucket_at} is a bucket: " in problem
    assert problem.endswith("; leave it out")
    assert parsed(MACHINE, THERE, **keys)


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("links", {"links": "follow"}),
        ("links", {"links": "skip"}),
        ("select.pathsFrom", {"select": {"pathsFrom": "/list"}}),
        ("select.oneFileSystem", {"select": {"oneFileSystem": True}}),
    ],
)
def test_what_only_a_file_system_has_is_refused_of_a_source(key: str, keys: dict[str, Any]) -> None:
    (problem,) = refused(BUCKET, THERE, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert parsed(MACHINE, BACKUPS, **keys)


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("keepReplaced", {"keepReplaced": ".replaced"}),
        ("verify", {"verify": "readback"}),
        ("chunkSizeMiB", {"chunkSizeMiB": 4}),
    ],
)
def test_what_a_bucket_cannot_keep_or_do_is_refused_of_a_destination(key: str, keys: dict[str, Any]) -> None:
    (problem,) = refused(MACHINE, BACKUPS, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert parsed(BUCKET, THERE, **keys)


def test_numbers_of_owners_and_chunks_that_are_parts_are_accepted() -> None:
    assert parsed(MACHINE, BACKUPS, chunkSizeMiB=8, preserve={"owners": "numeric"}).chunk_size_mib == 8


def test_a_copy_by_s3_has_no_limit_of_rate() -> None:
    (problem,) = refused(BUCKET, BACKUPS, bandwidthLimitMbps=100)
    assert problem.startswith("$.bandwidthLimitMbps: 100, ")
    assert parsed(MACHINE, BACKUPS, bandwidthLimitMbps=100)


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("delete", {"delete": True, "confirmDelete": "without-dry-run"}),
        ("compare", {"compare": "digest"}),
        ("approval", {"approval": "required"}),
        ("objective.deadlineSeconds", {"objective": {"deadlineSeconds": 60}}),
    ],
)
def test_what_a_copy_by_s3_cannot_do_is_refused_by_name(key: str, keys: dict[str, Any]) -> None:
    (problem,) = refused(BUCKET, BACKUPS, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert parsed(MACHINE, BACKUPS, **keys)


def test_a_bucket_may_be_in_a_region_that_is_not_enrolled_and_its_machine_not() -> None:
    assert parsed(MACHINE, {**BACKUPS, "region": "ap-southeast-2"}).destination.region == "ap-southeast-2"
    (problem,) = refused({**MACHINE, "region": "ap-southeast-2"}, BACKUPS)
    assert problem.startswith("$.source.region: 'ap-southeast-2' is not enrolled")


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("us-east-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("eusc-de-east-1", "aws-eusc"),
    ],
)
def test_partition_of_a_region(region: str, partition: str) -> None:
    assert partition_of_region(region) == partition


def test_ends_in_two_partitions_are_refused() -> None:
    (problem,) = refused(MACHINE, {**BACKUPS, "region": "cn-north-1"})
    assert problem.startswith("$.destination.region: 'cn-north-1' is in partition aws-cn, and 'us-west-2' in aws")


@pytest.mark.parametrize(
    ("source", "destination", "verb"),
    [
        ("a/", "a/", "is"),
        ("a/", "a/b/", "lies in"),
        ("a/b/", "a/", "holds"),
        ("", "a/", "lies in"),
        ("a/", "", "holds"),
    ],
)
def test_a_bucket_is_not_copied_into_itself(source: str, destination: str, verb: str) -> None:
    (problem,) = refused({**BUCKET, "prefix": source}, {**BUCKET, "prefix": destination})
    assert f"'s3://my-data/{destination}' {verb} the source's 's3://my-data/{source}'" in problem


def test_prefixes_that_are_apart_are_accepted_in_one_bucket_and_one_region() -> None:
    assert parsed({**BUCKET, "prefix": "a/"}, {**BUCKET, "prefix": "ab/"})
    (problem,) = refused({**BUCKET, "prefix": "a/"}, {**BUCKET, "prefix": "b/", "region": IRELAND})
    assert problem.startswith("$.destination.region: 'eu-west-1', and $.source.region is 'us-west-2'")


@pytest.mark.parametrize("prefix", ["", "a/", "ä/b/", "…/", ". /", "a b/", "a/.hidden/"])
def test_prefixes_of_all_kinds(prefix: str) -> None:
    assert parsed(MACHINE, {**BACKUPS, "prefix": prefix}).destination.where == f"s3://my-backups/{prefix}"


def test_a_prefix_is_measured_in_bytes() -> None:
    assert parsed(MACHINE, {**BACKUPS, "prefix": "ä" * 449 + "x/"})
    (problem,) = refused(MACHINE, {**BACKUPS, "prefix": "ä" * 450 + "/"})
    assert problem.endswith("; write 900 bytes at most")


def test_a_mirror_of_a_whole_bucket_is_confirmed_as_any_other() -> None:
    assert parsed(MACHINE, {**BACKUPS, "prefix": ""}, delete=True, dryRun=True).delete
    (problem,) = refused(MACHINE, BACKUPS, delete=True)
    assert problem.startswith("$.confirmDelete: is missing")


KEY = "arn:aws:kms:{}:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def test_what_is_asked_of_objects_goes_to_their_writer() -> None:
    written = {"storageClass": "GLACIER_IR", "tags": {"a": "b"}, "kmsKeyId": KEY.format(IRELAND)}
    end = parsed(MACHINE, {**BACKUPS, **written}).destination
    assert {key: end.command({})[key] for key in written} == written
    assert not written.keys() & parsed(MACHINE, BACKUPS).destination.command({}).keys()
    assert parsed({**BUCKET, "archived": "skip"}, THERE).source.command({})["archived"] == "skip"
    assert "archived" not in parsed(BUCKET, THERE).source.command({})


@pytest.mark.parametrize("storage_class", ["GLACIER", "DEEP_ARCHIVE"])
def test_what_is_read_again_to_be_compared_goes_into_no_archive(storage_class: str) -> None:
    assert refused(MACHINE, {**BACKUPS, "storageClass": storage_class}, compare="digest") == [
        f"$.compare: 'digest', and $.destination is a bucket: objects of the class {storage_class}, which storageClass "
        "asks for, cannot be read again; leave it out"
    ]
    assert parsed(MACHINE, {**BACKUPS, "storageClass": storage_class})
    assert parsed(MACHINE, {**BACKUPS, "storageClass": "GLACIER_IR"}, compare="digest")


def test_a_key_is_of_the_buckets_region() -> None:
    (problem,) = refused(MACHINE, {**BACKUPS, "kmsKeyId": KEY.format(WEST)})
    assert problem.startswith(f"$.destination.kmsKeyId: '{KEY.format(WEST)}' is a key of {WEST}, and the bucket is in ")


@pytest.mark.parametrize(
    ("side", "changes", "words"),
    [
        (
            "destination",
            {"storageClass": "COLD"},
            "storageClass: \"COLD\" is not valid; write 'STANDARD'",
        ),
        ("destination", {"tags": {str(n): "" for n in range(11)}}, "write 10 at most"),
        ("destination", {"tags": {"aws:x": ""}}, '$.destination.tags.aws:x: "aws:x" is not valid; keys that begin'),
        ("destination", {"tags": {"a": "b" * 257}}, "is not valid; write 256 characters at most"),
        ("destination", {"tags": {"a": "b&c"}}, '$.destination.tags.a: "b&c" is not valid; write letters, digits'),
        ("destination", {"kmsKeyId": "alias/mine"}, 'kmsKeyId: "alias/mine" is not valid; write the ARN'),
        ("destination", {"expectedBucketOwner": "me"}, '"me" is not valid; write the 12 digits of the account'),
        (
            "source",
            {"archived": "thaw"},
            "$.source.archived: \"thaw\" is not valid; write 'refuse', 'skip' or 'restore'",
        ),
        (
            "source",
            {"archived": "restore", "restore": {"tier": "fast"}},
            "$.source.restore.tier: \"fast\" is not valid; write 'Standard', 'Bulk' or 'Expedited'",
        ),
        (
            "source",
            {"archived": "restore", "restore": {"days": 31}},
            "$.source.restore.days: 31 is not valid; write 30 or less",
        ),
        (
            "source",
            {"archived": "restore", "restore": {"maxWaitHours": 0}},
            "$.source.restore.maxWaitHours: 0 is not valid; write more than 0",
        ),
        (
            "source",
            {"archived": "skip", "restore": {"days": 3}},
            "$.source.restore: {'tier': 'Standard', 'days': 3, 'maxWaitHours': 72.0}, and $.source is a bucket: its "
            "archived is 'skip', so nothing is restored: write archived as 'restore'; leave it out",
        ),
        ("source", {"storageClass": "GLACIER"}, "$.source.storageClass: is not a known key; "),
    ],
)
def test_each_option_is_refused_by_field_and_value(side: str, changes: dict[str, Any], words: str) -> None:
    ends = {"source": BUCKET, "destination": BACKUPS}
    (problem,) = refused(**{**ends, side: {**ends[side], **changes}})
    assert words in problem


@pytest.mark.parametrize("key", ["expectedBucketOwner", "archived", "restore", "storageClass", "tags", "kmsKeyId"])
def test_a_machine_has_no_objects(key: str) -> None:
    (problem,) = refused(MACHINE, {**THERE, key: "x"})
    assert problem == (
        f"$.destination.{key}: is not a known key; objects of a bucket have it, files have not; leave it out, or write "
        "kind as 'bucket'"
    )
