"""RestoreObject.

AWS: has no expedited retrieval of what lies in DEEP_ARCHIVE, and restores each class by each tier within its own time;
says 503 where there is no capacity for an expedited one, which a fault does here. A copy goes at the midnight after
its days.
Emulator: restores all alike, within two seconds.
"""

from __future__ import annotations

import re
from threading import Lock
from typing import Any

from local.config import LocalConfig
from local.patches.replace import override
from local.patches.upstream import s3

HOUR_SECONDS = 3_600.0
# Within its usual time: 3 to 5 hours, 5 to 12, 1 to 5 minutes; 12 and 48 hours.
HOURS = {
    ("GLACIER", "Standard"): 4.0,
    ("GLACIER", "Bulk"): 8.0,
    ("GLACIER", "Expedited"): 3 / 60,
    ("DEEP_ARCHIVE", "Standard"): 12.0,
    ("DEEP_ARCHIVE", "Bulk"): 48.0,
}
_TIER = re.compile(rb"<Tier>\s*(\w+)\s*</Tier>")
_TIERS = ("Standard", "Bulk", "Expedited")


def install(config: LocalConfig) -> None:
    """Refuse what S3 cannot retrieve, and restore the rest in its own time."""
    restore, setting = s3._restore_object, Lock()

    def restoring(bucket: str, key: str, body: bytes) -> Any:
        record = (s3._buckets.get(bucket) or {"objects": {}})["objects"].get(key) or {}
        kind, found = record.get("storage_class") or "STANDARD", _TIER.search(body)
        tier = found[1].decode() if found else "Standard"
        if tier not in _TIERS:
            message = "The XML you provided was not well-formed or did not validate against our published schema"
            return s3._error("MalformedXML", message, 400, f"/{bucket}/{key}")
        if (kind, tier) == ("DEEP_ARCHIVE", "Expedited"):
            message = "Retrieval option is not supported by this storage class"
            return s3._error("InvalidArgument", message, 400, f"/{bucket}/{key}")
        # The emulator reads its delay when it is asked.
        with setting:
            s3._RESTORE_DELAY_SECONDS = HOURS.get((kind, tier), 0.0) * config.restore_hour_seconds
            return restore(bucket, key, body)

    override(s3, _restore_object=restoring)


def age(hours: float) -> None:
    """Have so many hours go by for what is restored, in every account."""
    for bucket in list(s3._buckets._data.values()):
        for record in list((bucket.get("objects") or {}).values()):
            if found := record.get("restore"):
                record["restore"] = found | {
                    name: found[name] - hours * HOUR_SECONDS for name in ("requested_at", "available_at", "expires_at")
                }
