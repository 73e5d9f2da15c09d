"""Requests that a test holds back until it lets them go: what comes after what is then never a matter of time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Holds:
    """Patterns of `METHOD /path`; all calls are made on the emulator's event loop."""

    def __init__(self) -> None:
        self._held: dict[re.Pattern[str], asyncio.Event] = {}

    def hold(self, pattern: str) -> None:
        """Requests that come from now on and match wait."""
        self._held.setdefault(re.compile(pattern), asyncio.Event())

    def release(self) -> None:
        """Let all waiting calls pass; nothing is held any more."""
        for event in self._held.values():
            event.set()
        self._held.clear()

    async def passed(self, request: str) -> None:
        """Return when nobody holds `request`."""
        while event := next((event for pattern, event in self._held.items() if pattern.search(request)), None):
            await event.wait()


def with_holds(app: Asgi, holds: Holds) -> Asgi:
    """`app` behind what is held."""

    async def held(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await holds.passed(f"{scope['method']} {scope['path']}")
        await app(scope, receive, send)

    return held
