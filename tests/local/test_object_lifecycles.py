"""Rules of a bucket's lifecycle, as they are written and read."""

from typing import Any

import pytest

ABORTS = {"Status": "Enabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}}


@pytest.mark.parametrize(
    "about",
    [
        {"Filter": {}},
        {"Filter": {"Prefix": ""}},
        {"Filter": {"Prefix": "out/"}},
        {"Filter": {"Tag": {"Key": "a", "Value": "b"}}},
        {"Filter": {"ObjectSizeGreaterThan": 5}},
    ],
)
def test_a_rule_is_told_as_it_was_written(s3: Any, at: dict[str, str], about: dict[str, Any]) -> None:
    bucket, rule = at["Bucket"], {"ID": "one", **about, **ABORTS}
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == [rule]
    s3.delete_bucket_lifecycle(Bucket=bucket)
