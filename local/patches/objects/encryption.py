"""Encryption of objects.

AWS: encrypts each object, by its own keys (AES256) where neither write nor bucket says otherwise, and says so in each
answer; `aws:kms` without a key takes the account's `aws/s3`; a write with a key that is not there, or is disabled, is
refused. A write says whether its object has a bucket key, else the bucket does, and answers tell it.
Emulator: says nothing where nothing was said, wants a key to be named, takes any, and knows no bucket key.
"""

from __future__ import annotations

from typing import Any

from local.patches.iam.object_keys import (
    BUCKET_KEY_HEADER,
    KEY_HEADER,
    KIND_HEADER,
    amazons,
    has_bucket_key,
    is_customers,
)
from local.patches.replace import override
from local.patches.upstream import kms, s3

_BY_KEYS = ("aws:kms", "aws:kms:dsse")


def install() -> None:
    """Encrypt by these rules."""
    resolve = s3._resolve_sse_write_headers

    def resolving(headers: dict[str, str], bucket: str) -> Any:
        named = dict(headers)
        if named.get(KIND_HEADER) in _BY_KEYS and not named.get(KEY_HEADER):
            named[KEY_HEADER] = amazons()
        kind = named.get(KIND_HEADER)
        kept, refused = resolve(named | ({KIND_HEADER: "aws:kms"} if kind in _BY_KEYS else {}), bucket)
        if refused:
            return kept, refused
        if kind in _BY_KEYS:
            kept[KIND_HEADER] = kind
        if not kept:
            kept = {KIND_HEADER: "AES256"}
        if kept.get(KIND_HEADER) in _BY_KEYS:
            kept.setdefault(KEY_HEADER, amazons())
            kept[BUCKET_KEY_HEADER] = str(has_bucket_key(bucket, headers)).lower()
        # The key that a bucket encrypts with by default may be one that stands in for a bootstrapped account's.
        refused = _unusable(kept) if KEY_HEADER in headers else None
        return (None, refused) if refused else (kept, None)

    stored = (*s3._SSE_STORED_HEADERS, BUCKET_KEY_HEADER)
    override(s3, _resolve_sse_write_headers=resolving, _SSE_STORED_HEADERS=stored)


def _unusable(kept: dict[str, str]) -> Any:
    """Write the key's ARN; S3's refusal of a key that cannot encrypt."""
    key = kept.get(KEY_HEADER)
    if not is_customers(key):
        return None
    found = kms._resolve_key(key)
    if found is None:
        return s3._error("KMS.NotFoundException", f"Key '{key}' does not exist", 400)
    if not found["Enabled"]:
        return s3._error("KMS.DisabledException", f"{found['Arn']} is disabled.", 400)
    kept[KEY_HEADER] = found["Arn"]
    return None
