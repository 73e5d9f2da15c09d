"""A deployment with a bucket in the other region."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.image import with_daemon

OWNER = "000000000000"
"""The account of the local cloud."""
BUCKET, ABSENT = "cpt-test-objects", "cpt-test-absent"
ABSENT_KEY = f"arn:aws:kms:{OTHER}:{OWNER}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
"""The settings name it, and KMS does not know it."""
ALLOWED: list[Mapping[str, Any]] = [
    {"bucket": name, "region": OTHER, "read": True, "write": True, "delete": True, "kmsKey": ABSENT_KEY}
    for name in (BUCKET, ABSENT)
]
"""One setting for all files that need no other one: they share its templates."""


@contextmanager
def allowing(work: Path, allowed: Sequence[Mapping[str, Any]] = ALLOWED) -> Iterator[Account]:
    """`allowed`: the setting `buckets`."""
    config = LocalConfig.model_validate(
        {"port": 0, "bootSeconds": 1.0, "image": with_daemon(work / "image"), "pollSeconds": 0.2}
    )
    assembly = synthesized(work / "cdk.out", (HOME, OTHER), buckets=[dict(one) for one in allowed])
    with LocalCloud(config, work / "state", assembly) as cloud:
        found = Account(cloud, work)
        place: Any = {"LocationConstraint": OTHER}
        cloud.client("s3", OTHER).create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
        yield found
