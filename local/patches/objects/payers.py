"""Who pays for requests to a bucket.

AWS: tells it by `?requestPayment`. Emulator: takes it by that name, and tells it by another one.
"""

from __future__ import annotations

from typing import Any

from local.patches.replace import override
from local.patches.upstream import s3


def install() -> None:
    """Tell it by S3's name."""
    dispatch = s3._dispatch

    def telling(method: str, bucket: str, key: str, headers: dict[str, str], body: Any, query: dict[str, Any]) -> Any:
        if method == "GET" and bucket and not key and "requestPayment" in query:
            return s3._get_bucket_request_payment(bucket)
        return dispatch(method, bucket, key, headers, body, query)

    override(s3, _dispatch=telling)
