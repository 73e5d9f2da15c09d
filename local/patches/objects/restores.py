"""RestoreObject.

AWS: has no expedited retrieval of what lies in DEEP_ARCHIVE. Emulator: restores all alike.
"""

from __future__ import annotations

from typing import Any

from local.patches.replace import override
from local.patches.upstream import s3


def install() -> None:
    """Refuse what S3 cannot retrieve."""
    restore = s3._restore_object

    def restoring(bucket: str, key: str, body: bytes) -> Any:
        record = (s3._buckets.get(bucket) or {"objects": {}})["objects"].get(key) or {}
        if record.get("storage_class") == "DEEP_ARCHIVE" and b"<Tier>Expedited</Tier>" in body:
            message = "Retrieval option is not supported by this storage class"
            return s3._error("InvalidArgument", message, 400, f"/{bucket}/{key}")
        return restore(bucket, key, body)

    override(s3, _restore_object=restoring)
