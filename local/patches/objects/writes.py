"""PutObject.

AWS: names the checksum of what was written, and the version `null` where a bucket keeps versions no more; in a bucket
that locks objects by default a body comes with a digest. Emulator: names neither, and asks for none.
"""

from __future__ import annotations

from typing import Any

from local.patches.objects import conditions
from local.patches.replace import override
from local.patches.upstream import s3


def install() -> None:
    """Answer with the checksum."""
    put = s3._put_object

    def putting(bucket: str, key: str, body: Any, headers: dict[str, str]) -> Any:
        if refused := conditions.conflict(bucket, key, headers) or lacks_digest(bucket, headers):
            return refused
        status, answer, said = put(bucket, key, body, headers)
        if status == 200:
            written = s3._buckets[bucket]["objects"][key].get("checksums") or {}
            answer |= {f"x-amz-checksum-{name.lower()}": value for name, value in written.items()}
            answer["x-amz-checksum-type"] = "FULL_OBJECT"
            if s3._bucket_versioning.get(bucket) == "Suspended":
                answer["x-amz-version-id"] = "null"
        return status, answer, said

    override(s3, _put_object=putting)


def lacks_digest(bucket: str, headers: dict[str, str]) -> Any:
    """Return S3's refusal of a body without a digest, where the bucket locks what comes."""
    locks = (s3._bucket_object_lock.get(bucket) or {}).get("default_retention")
    has_digest = "content-md5" in headers or any(name.startswith("x-amz-checksum-") for name in headers)
    if not locks or has_digest or "x-amz-trailer" in headers:
        return None
    message = (
        "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters"
    )
    return s3._error("InvalidRequest", message, 400)
