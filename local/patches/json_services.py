"""Services of the JSON protocol that the emulator does not have: an action per function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from local.patches.upstream import app, iam_actions, router

Action = Callable[[dict[str, Any]], dict[str, Any]]


class RefusedError(Exception):
    """The service answers an error; `code` is AWS's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def add(name: str, target: str, actions: Mapping[str, Action]) -> None:
    """Route calls whose `X-Amz-Target` starts with `target` to `actions`; `name` is also IAM's prefix."""

    async def handle(
        _method: str, _path: str, headers: dict[str, str], body: bytes, _query: dict[str, Any]
    ) -> tuple[int, dict[str, str], bytes]:
        action = headers.get("x-amz-target", "").rsplit(".", 1)[-1]
        content = {"Content-Type": "application/x-amz-json-1.1"}
        try:
            if action not in actions:
                raise RefusedError("UnknownOperationException", f"{name} has no {action} here")
            return 200, content, json.dumps(actions[action](json.loads(body or b"{}"))).encode()
        except RefusedError as error:
            return 400, content, json.dumps({"__type": error.code, "message": str(error)}).encode()

    router.SERVICE_PATTERNS[name] = {"target_prefixes": [target]}
    iam_actions.SERVICE_TO_IAM_NAMESPACE[name] = name
    app.SERVICE_HANDLERS[name] = handle
