"""Distance of the APIs, and calls that are late.

A call to another region's endpoint takes a round trip that a local run hides (about 0.13 s between Oregon and Ireland),
and Run Command takes a while to reach an agent. The emulator answers at once; the configured times, and those of the
scripts that delay calls of EC2, are added before the call is served.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from local.config import LocalConfig
from local.instances.faults import Faults

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

SCOPE = re.compile(rb"Credential=[^/]+/\d{8}/([a-z0-9-]+)/([a-z0-9-]+)/")
ACTION = re.compile(rb"(?:^|&)Action=([A-Za-z]+)")


def with_latency(app: Asgi, config: LocalConfig, faults: Faults) -> Asgi:
    """`app` with the configured waits; unsigned requests are not delayed."""
    remote, ssm = config.latency.remote_region_seconds, config.latency.ssm_seconds

    async def delayed(scope: dict[str, Any], receive: Any, send: Any) -> None:
        found = SCOPE.search(dict(scope["headers"]).get(b"authorization", b"")) if scope["type"] == "http" else None
        if found is not None:
            region, service = found.group(1).decode(), found.group(2).decode()
            seconds = (remote if region != config.home_region else 0) + (ssm if service == "ssm" else 0)
            if service == "ec2":
                first = await receive()
                receive = again(first, receive)
                action = ACTION.search(first.get("body", b""))
                seconds += faults.delay(action.group(1).decode(), region) if action else 0
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    return delayed


def again(first: dict[str, Any], receive: Any) -> Callable[[], Awaitable[dict[str, Any]]]:
    """`receive` with the first message, which was looked at, put back; queries of EC2 fit into one."""
    waiting = [first]

    async def from_the_start() -> dict[str, Any]:
        return waiting.pop() if waiting else await receive()

    return from_the_start
