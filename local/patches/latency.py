"""Distance of the APIs.

A call to another region's endpoint takes a round trip that a local run hides (about 0.13 s between Oregon and Ireland),
and Run Command takes a while to reach an agent. The emulator answers at once; the configured times are added before the
call is served.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from local.config import LocalConfig

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

_SCOPE = re.compile(rb"Credential=[^/]+/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/")


def with_latency(app: Asgi, config: LocalConfig) -> Asgi:
    """`app` with the configured waits; unsigned requests are not delayed."""
    remote, ssm = config.latency.remote_region_seconds, config.latency.ssm_seconds
    if not remote and not ssm:
        return app

    async def delayed(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(delay(dict(scope["headers"]).get(b"authorization", b"")))
        await app(scope, receive, send)

    def delay(authorization: bytes) -> float:
        found = _SCOPE.search(authorization)
        if found is None:
            return 0
        region, service = found.group(1).decode(), found.group(2).decode()
        return (remote if region != config.home_region else 0) + (ssm if service == "ssm" else 0)

    return delayed
