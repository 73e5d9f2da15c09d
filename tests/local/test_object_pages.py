"""Pages of keys, versions and parts, and parts of objects, as S3's API reference tells of them."""

import time
from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.objects import refusal, upload


def test_a_listing_names_each_objects_checksum(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"", ChecksumAlgorithm="CRC32")
    s3.complete_multipart_upload(**upload(s3, at | {"Key": f"{at['Key']}-parts"}, {1: b"x"}))
    listed = s3.list_objects_v2(Bucket=at["Bucket"], Prefix=at["Key"])["Contents"]
    told = [(one["ChecksumAlgorithm"], one["ChecksumType"]) for one in listed]
    assert told == [(["CRC32"], "FULL_OBJECT"), (["CRC64NVME"], "FULL_OBJECT")]


def test_pages_go_on_by_their_tokens_and_no_others(s3: Any, at: dict[str, str]) -> None:
    keys = [f"{at['Key']}/{name}" for name in ("a", "b", "c/1", "c/2", "d")]
    for key in keys:
        s3.put_object(Bucket=at["Bucket"], Key=key, Body=b"")
    words = {"Bucket": at["Bucket"], "Prefix": f"{at['Key']}/"}
    first = s3.list_objects_v2(**words, MaxKeys=2)
    rest = s3.list_objects_v2(**words, ContinuationToken=first["NextContinuationToken"])
    assert [one["Key"] for one in first["Contents"] + rest["Contents"]] == keys
    pages = s3.get_paginator("list_objects_v2").paginate(**words, Delimiter="/", PaginationConfig={"PageSize": 1})
    assert [len(page.get("Contents", []) + page.get("CommonPrefixes", [])) for page in pages] == [1] * 4
    for strange in ("", keys[1], "bm9uZQ=="):
        assert refusal(s3.list_objects_v2, **words, ContinuationToken=strange) == ("InvalidArgument", 400)


def test_a_page_of_no_keys_is_the_last_one(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"")
    page = s3.list_objects_v2(Bucket=at["Bucket"], MaxKeys=0)
    assert (page["KeyCount"], page["IsTruncated"]) == (0, False)


def test_a_listing_tells_what_is_being_restored(cloud: LocalCloud, s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"", StorageClass="GLACIER")
    asked: Any = {"Bucket": at["Bucket"], "Prefix": at["Key"], "OptionalObjectAttributes": ["RestoreStatus"]}
    assert "RestoreStatus" not in s3.list_objects_v2(**asked)["Contents"][0]
    s3.restore_object(**at, RestoreRequest={"Days": 1, "GlacierJobParameters": {"Tier": "Bulk"}})
    assert s3.list_objects_v2(**asked)["Contents"][0]["RestoreStatus"] == {"IsRestoreInProgress": True}
    assert s3.head_object(**at)["Restore"] == 'ongoing-request="true"'
    cloud.age_restores(8.1)
    assert "expiry-date" in s3.head_object(**at)["Restore"]
    assert s3.list_objects_v2(**asked)["Contents"][0]["RestoreStatus"]["RestoreExpiryDate"].timestamp() > time.time()
    s3.get_object(**at)
    s3.copy_object(**at, CopySource=at, MetadataDirective="REPLACE")
    assert "StorageClass" not in s3.head_object(**at)


def test_versions_of_any_key_are_listed(s3: Any, at: dict[str, str], versioned: str) -> None:
    key = f"{at['Key']}/é \n+\x01%"
    put = [s3.put_object(Bucket=versioned, Key=key, Body=b"")["VersionId"] for _ in range(2)]
    marker = s3.delete_object(Bucket=versioned, Key=key)["VersionId"]
    told = s3.list_object_versions(Bucket=versioned, Prefix=at["Key"])
    assert [(one["Key"], one["VersionId"], one["IsLatest"]) for one in told["Versions"]] == [
        (key, put[1], False),
        (key, put[0], False),
    ]
    assert [(one["Key"], one["VersionId"], one["IsLatest"]) for one in told["DeleteMarkers"]] == [(key, marker, True)]


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=0-1,3-4", "bytes=a-b", "bytes=--1", "lines=0-1"])
def test_what_is_no_range_is_not_looked_at(s3: Any, at: dict[str, str], asked: str) -> None:
    s3.put_object(**at, Body=b"0123456789")
    for answer in (s3.get_object(**at, Range=asked), s3.head_object(**at, Range=asked)):
        assert (answer["ContentLength"], "ContentRange" in answer) == (10, False)


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-11", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(s3: Any, at: dict[str, str], asked: str) -> None:
    s3.put_object(**at, Body=b"0123456789")
    assert refusal(s3.get_object, **at, Range=asked) == ("InvalidRange", 416)
    assert refusal(s3.head_object, **at, Range=asked) == ("416", 416)


def test_of_an_empty_object_there_is_no_range(s3: Any, at: dict[str, str]) -> None:
    s3.put_object(**at, Body=b"")
    assert refusal(s3.get_object, **at, Range="bytes=0-0") == ("InvalidRange", 416)


def test_a_part_is_asked_for_by_its_number(s3: Any, at: dict[str, str]) -> None:
    s3.complete_multipart_upload(**upload(s3, at, {1: b"x" * (5 << 20), 2: b"last"}))
    answer = s3.get_object(**at, PartNumber=2, ChecksumMode="ENABLED")
    assert (answer["Body"].read(), answer["PartsCount"], "ChecksumCRC64NVME" in answer) == (b"last", 2, False)
    assert refusal(s3.get_object, **at, PartNumber=3) == ("InvalidPartNumber", 416)
    assert refusal(s3.get_object, **at, PartNumber=0) == ("InvalidArgument", 400)
