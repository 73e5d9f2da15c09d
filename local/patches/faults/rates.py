"""The rates at which AWS answers each kind of call.

AWS: each account has, per region and call, a bucket of tokens that fills again at a fixed rate; a call that finds it
empty is refused (`ThrottlingException`, of EC2 `RequestLimitExceeded`), and clients are to wait and try again.
Emulator: answers everything. The configured rates are kept here, in front of it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from local.config import LocalConfig, Rate
from local.patches.ec2.wire import refuse
from local.patches.faults.latency import ACTION, SCOPE, Asgi, again

_REFUSED = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}).encode()


class Buckets:
    """A bucket for each configured call and region, filled when it is first asked for."""

    def __init__(self, rates: dict[str, Rate], now: Callable[[], float] = time.monotonic) -> None:
        self._rates, self._now = rates, now
        self._left: dict[tuple[str, str], tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, call: str, region: str) -> bool:
        """Return whether the call is answered."""
        rate = self._rates.get(call)
        if rate is None:
            return True
        with self._lock:
            now = self._now()
            left, since = self._left.get((call, region), (float(rate.burst), now))
            left = min(rate.burst, left + (now - since) * rate.per_second)
            granted = left >= 1
            self._left[call, region] = (left - granted, now)
            return granted


def with_rates(app: Asgi, config: LocalConfig) -> Asgi:
    """`app` behind the buckets; calls by query or by target header are known, as SSM's, EC2's and DynamoDB's are.

    Those of people pass, who ask far less often on AWS than tests do here; those of roles are counted.
    """
    buckets = Buckets(config.rates)

    async def limited(scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" and config.rates else {}
        found = SCOPE.search(headers.get(b"authorization", b""))
        if found is None or b"Credential=ASIA" not in headers[b"authorization"]:
            await app(scope, receive, send)
            return
        region, service = found.group(1).decode(), found.group(2).decode()
        target = headers.get(b"x-amz-target", b"").decode().rpartition(".")[2]
        if not target:
            first = await receive()
            receive = again(first, receive)
            action = ACTION.search(first.get("body", b""))
            target = action.group(1).decode() if action else ""
        if buckets.take(f"{service}:{target}", region):
            await app(scope, receive, send)
            return
        if service == "ec2":
            status, _, body = refuse("RequestLimitExceeded", "Request limit exceeded.", 503)
            kind = b"text/xml"
        else:
            status, body, kind = 400, _REFUSED, b"application/x-amz-json-1.1"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": body})

    return limited
