"""What a function that copies may do: read below one prefix, write below another, and nothing else."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from lambdas.core.seats.credentials import READ_UNDER, WRITTEN_UNDER, BucketPlace, literal

_READ = ("GetObject", "GetObjectVersion")
_READ_TAGS = ("GetObjectTagging", "GetObjectVersionTagging")
_WRITE = ("GetObject", "PutObject", "PutObjectTagging", "AbortMultipartUpload", "ListMultipartUploadParts")


class Keys(NamedTuple):
    """Keys of KMS that objects are under, by side."""

    source: Sequence[str] = ()
    destination: Sequence[str] = ()


def session_policy(
    partition: str, source: BucketPlace, destination: BucketPlace, keys: Keys, *, own_tags: bool = False
) -> str:
    """The policy that narrows the role to the two prefixes of a transfer, as JSON text; `partition`: of ARNs.

    `own_tags`: copies get those of the request, so nobody reads the source's.
    """
    statements: list[dict[str, Any]] = [
        _objects(partition, source, _READ if own_tags else (*_READ, *_READ_TAGS)),
        _objects(partition, destination, _WRITE),
        _listing(partition, source),
        _listing(partition, destination),
        # S3 knows no prefix for it: the names of others' unfinished uploads are seen, too.
        {
            "Effect": "Allow",
            "Action": "s3:ListBucketMultipartUploads",
            "Resource": f"arn:{partition}:s3:::{destination.bucket}",
        },
    ]
    if keys.destination:
        statements.append({"Effect": "Allow", "Action": WRITTEN_UNDER, "Resource": [*keys.destination]})
    if read_only := [key for key in keys.source if key not in keys.destination]:
        statements.append({"Effect": "Allow", "Action": READ_UNDER, "Resource": read_only})
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _objects(partition: str, place: BucketPlace, actions: tuple[str, ...]) -> dict[str, Any]:
    below = f"arn:{partition}:s3:::{place.bucket}/{literal(place.prefix)}*"
    return {"Effect": "Allow", "Action": [f"s3:{action}" for action in actions], "Resource": below}


def _listing(partition: str, place: BucketPlace) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": f"arn:{partition}:s3:::{place.bucket}",
        "Condition": {"StringLike": {"s3:prefix": f"{literal(place.prefix)}*"}},
    }
