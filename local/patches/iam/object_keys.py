"""Objects under a customer's key.

AWS: whoever reads such an object, or writes one, needs kms:Decrypt or kms:GenerateDataKey on the key as well, and for
an upload in parts both; a head needs it for the checksum alone. The key is the one that the write names, or that the
bucket encrypts with by default; of an object or an upload it is the one that it was begun with. S3 asks KMS in the
caller's name, with the object's ARN as the encryption context, or the bucket's where the object has a bucket key, as
its write says or the bucket does by default. A key of Amazon's own (`aws/s3`) admits everybody of the account.
Emulator: keeps the settings and asks for nothing.
"""

from __future__ import annotations

import re
from typing import Any

from local.patches.upstream import account_id, kms, region_name, s3

KEY_HEADER = "x-amz-server-side-encryption-aws-kms-key-id"
KIND_HEADER = "x-amz-server-side-encryption"
BUCKET_KEY_HEADER = "x-amz-server-side-encryption-bucket-key-enabled"
_READS = ("s3:GetObject", "s3:GetObjectVersion")


def place(path: str) -> tuple[str, str]:
    """Return bucket and key of a path."""
    bucket, _, key = path.removeprefix("/").partition("/")
    return bucket, key


def arn(bucket: str, key: str) -> str:
    """Return the ARN of a key."""
    return f"arn:aws:s3:::{bucket}/{key}"


def key_of(bucket: str) -> str | None:
    """The customer's key that a bucket encrypts with by default; None where it is Amazon's."""
    found = re.search(r"<KMSMasterKeyID>\s*(.*?)\s*</KMSMasterKeyID>", s3._bucket_encryption.get(bucket) or "")
    return _customers(found[1]) if found else None


def key_questions(
    action: str, object_arn: str, method: str, headers: dict[str, str], query: dict[str, Any]
) -> list[tuple[str, str, dict[str, Any]]]:
    """Actions, key and condition keys of what S3 asks KMS in the caller's name."""
    bucket_arn, _, name = object_arn.partition("/")
    bucket = bucket_arn.rsplit(":", 1)[-1]
    upload_id = s3._qp(query, "uploadId")
    if action == "s3:PutObject":
        needs = ["kms:GenerateDataKey", "kms:Decrypt"] if upload_id or "uploads" in query else ["kms:GenerateDataKey"]
        upload = s3._multipart_uploads.get(upload_id)
        key = _of_write(bucket, headers, upload)
        with_bucket_key = has_bucket_key(bucket, headers if upload is None else upload["preserved_headers"])
    elif action in _READS and (method != "HEAD" or "x-amz-checksum-mode" in headers):
        of_source = headers.get("x-amz-copy-source", "").partition("?versionId=")[2]
        kept = _kept(bucket, name, s3._qp(query, "versionId") or of_source)
        needs, key = ["kms:Decrypt"], _of_object(bucket, kept)
        with_bucket_key = has_bucket_key(bucket, kept)
    else:
        return []
    if key is None:
        return []
    context = {
        "kms:ViaService": f"s3.{region_name()}.amazonaws.com",
        "kms:CallerAccount": account_id(),
        "kms:EncryptionContext:aws:s3:arn": bucket_arn if with_bucket_key else object_arn,
    }
    return [(need, key, context) for need in needs]


def has_bucket_key(bucket: str, headers: dict[str, str]) -> bool:
    """Whether an object has a bucket key: as its write says, else as the bucket does by default."""
    said = headers.get(BUCKET_KEY_HEADER)
    if said is not None:
        return said.lower() == "true"
    return "<BucketKeyEnabled>true" in (s3._bucket_encryption.get(bucket) or "")


def resolved(key: str) -> str | None:
    """Return the ARN of a key that is there, by its id, ARN or alias."""
    found = kms._resolve_key(key)
    return str(found["Arn"]) if found else None


def _of_write(bucket: str, headers: dict[str, str], upload: dict[str, Any] | None) -> str | None:
    if upload is not None:
        return _customers(upload["preserved_headers"].get(KEY_HEADER))
    if headers.get(KIND_HEADER):
        return _customers(headers.get(KEY_HEADER))
    return key_of(bucket)


def _kept(bucket: str, name: str, version: str) -> dict[str, str]:
    """What an object keeps of its headers; nothing of one that is not there."""
    record = (s3._buckets.get(bucket) or {"objects": {}})["objects"].get(name)
    if version:
        versions = s3._object_versions.get((bucket, name), [])
        record = next((one for one in versions if one["version_id"] == version), record)
    return dict((record or {}).get("preserved_headers") or {})


def _of_object(bucket: str, kept: dict[str, str]) -> str | None:
    return _customers(kept[KEY_HEADER]) if KEY_HEADER in kept else (None if KIND_HEADER in kept else key_of(bucket))


def _customers(key: str | None) -> str | None:
    """Return a key's ARN, unless it is Amazon's."""
    return resolved(str(key)) or key if is_customers(key) else None


def is_customers(key: str | None) -> bool:
    """Return whether a key is named and is not Amazon's own."""
    return bool(key) and key != amazons() and not str(key).endswith("alias/aws/s3")


def amazons() -> str:
    """Return the key of Amazon's own that S3 takes where a write names none."""
    return f"arn:aws:kms:{region_name()}:{account_id()}:key/00000000-0000-4000-8000-0000000000a5"
