"""What a session may do that removes what a transfer has left unfinished in a bucket."""

import json
from typing import Any

from lambdas.core.seats.credentials import PARTIAL, BucketPlace, literal


def notes_prefix(transfer_id: str) -> str:
    """Where receivers of a transfer keep notes, below its prefix."""
    return f"{PARTIAL}{transfer_id}/"


def session_policy(partition: str, place: BucketPlace, transfer_id: str) -> str:
    """The policy that narrows the role to uploads below a prefix and to one transfer's notes; `partition`: of ARNs."""
    bucket = f"arn:{partition}:s3:::{place.bucket}"
    below = literal(place.prefix)
    statements: list[dict[str, Any]] = [
        {
            "Effect": "Allow",
            "Action": ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
            "Resource": f"{bucket}/{below}*",
        },
        {
            "Effect": "Allow",
            "Action": "s3:DeleteObject",
            "Resource": f"{bucket}/{below}{notes_prefix(transfer_id)}*",
        },
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": f"{below}{notes_prefix(transfer_id)}*"}},
        },
        # S3 knows no prefix for it: the names of others' unfinished uploads are seen, too.
        {"Effect": "Allow", "Action": "s3:ListBucketMultipartUploads", "Resource": bucket},
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))
