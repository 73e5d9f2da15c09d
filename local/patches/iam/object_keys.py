"""Objects under a customer's key.

AWS: whoever reads such an object, or writes one, needs kms:Decrypt or kms:GenerateDataKey on the key as well. S3 asks
KMS in the caller's name, with the object's ARN as the encryption context, or the bucket's where that has a bucket key.
A key of Amazon's own (`aws/s3`) admits everybody of the account.
Emulator: keeps the setting of the bucket and asks for nothing.
"""

from __future__ import annotations

import re
from typing import Any

from local.patches.upstream import account_id, region_name, s3

_NEEDS = {
    "s3:GetObject": "kms:Decrypt",
    "s3:GetObjectVersion": "kms:Decrypt",
    "s3:PutObject": "kms:GenerateDataKey",
}


def key_of(bucket: str) -> str | None:
    """The customer's key that a bucket encrypts with by default; None where it is Amazon's."""
    found = re.search(r"<KMSMasterKeyID>\s*(.*?)\s*</KMSMasterKeyID>", s3._bucket_encryption.get(bucket) or "")
    return found[1] if found and not found[1].endswith("alias/aws/s3") else None


def key_question(action: str, object_arn: str) -> tuple[str, str, dict[str, Any]] | None:
    """Action, key and condition keys of what S3 asks KMS in the caller's name; None where it asks nothing."""
    bucket_arn, _, _ = object_arn.partition("/")
    bucket = bucket_arn.rsplit(":", 1)[-1]
    key = key_of(bucket) if action in _NEEDS else None
    if key is None:
        return None
    with_bucket_key = "<BucketKeyEnabled>true" in s3._bucket_encryption[bucket]
    context = {
        "kms:ViaService": f"s3.{region_name()}.amazonaws.com",
        "kms:CallerAccount": account_id(),
        "kms:EncryptionContext:aws:s3:arn": bucket_arn if with_bucket_key else object_arn,
    }
    return _NEEDS[action], key, context
