"""Requests to the emulator that AWS has no API for: `POST /_local/interrupt`, `power-off`, `fault`, `delayed`,
`hold`, `release`, `begin-changes`, `share-subnet`, `expire-session`, `age-restores`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import TypeAdapter

from local.caps import Pair, PairCap
from local.config import Fault
from local.holds import Holds
from local.instances.fleet import Fleet

_PAIRS = TypeAdapter(dict[Pair, PairCap] | None)

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


Share = Callable[[str, str, str, str], bool]
Expire = Callable[[str], bool]
Age = Callable[[float], None]


def with_control(app: Asgi, fleet: Fleet, holds: Holds, share: Share, expire: Expire, age: Age) -> Asgi:
    """`app` with the control paths in front.

    `share`: have another account own a subnet; `expire`: have a session of a role end, by its access key.
    `age`: have so many hours go by for what S3 restores.
    """

    async def controlled(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/_local/"):
            await app(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        action, request = scope["path"].removeprefix("/_local/"), json.loads(body or b"{}")
        try:
            if action == "begin-changes":  # it waits for the kernel, once for each instance
                await asyncio.to_thread(fleet.begin_changes, _PAIRS.validate_python(request.get("between")))
                found = True
            else:
                found = answer(action, request)
            status, text = (200, "") if found else (404, "unknown instance or action")
        except ValueError as error:
            status, text = 400, str(error)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": text.encode()})

    def answer(action: str, request: dict[str, Any]) -> bool:
        if action == "fault":
            fleet.faults.add(Fault.model_validate(request))
            return True
        if action == "delayed":
            return (request["operation"], request["region"]) in fleet.faults.delayed
        if action == "hold":
            holds.hold(str(request["request"]))
            return True
        if action == "release":
            holds.release()
            return True
        if action == "share-subnet":
            where = fleet.config.account, str(request["region"])
            return share(*where, str(request["subnetId"]), str(request["owner"]))
        if action == "expire-session":
            return expire(str(request["accessKeyId"]))
        if action == "age-restores":
            age(float(request["hours"]))
            return True
        instance_id = str(request.get("instanceId", ""))
        if action == "interrupt":
            return fleet.interrupt(instance_id, request.get("graceSeconds"))
        if action == "power-off":  # InstanceInitiatedShutdownBehavior is terminate in the relays' launch template
            return fleet.terminate(instance_id)
        return False

    return controlled
