"""Serves the custom widgets of the deployment's dashboard, and calls their functions for whoever clicks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from typing import Any

import boto3

from local.dashboard.sanitized import sanitized

Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]
PATH = "/_local/dashboard"
CALL = f"{PATH}/call"
JSON = "application/json"


def with_dashboard(app: Asgi, region: str, endpoint: str) -> Asgi:
    """`app` with the dashboard in front. Calls must be JSON, which a page from elsewhere cannot send unasked."""

    async def shown(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in (PATH, CALL):
            await app(scope, receive, send)
            return
        clients = _Clients(region, endpoint)
        if scope["path"] == PATH:
            await _answer(send, 200, "text/html; charset=utf-8", await asyncio.to_thread(page, clients))
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        is_json = any(name == b"content-type" and value.startswith(JSON.encode()) for name, value in scope["headers"])
        if scope["method"] != "POST" or not is_json:
            await _answer(send, 415, "text/plain", f"POST {JSON}")
            return
        await _answer(send, 200, JSON, json.dumps(await asyncio.to_thread(called, clients, json.loads(body))))

    return shown


class _Clients:
    def __init__(self, region: str, endpoint: str) -> None:
        make: Any = boto3.Session("test", "test", region_name=region).client
        self.cloudwatch, self.functions = (make(name, endpoint_url=endpoint) for name in ("cloudwatch", "lambda"))


def page(clients: _Clients) -> str:
    """All custom widgets of all dashboards, each empty until the browser asks for it."""
    found = [
        widget["properties"]
        for one in clients.cloudwatch.list_dashboards().get("DashboardEntries", [])
        for widget in json.loads(clients.cloudwatch.get_dashboard(DashboardName=one["DashboardName"])["DashboardBody"])[
            "widgets"
        ]
        if widget["type"] == "custom"
    ]
    sections = "".join(map(_section, found))
    text = files("local.dashboard").joinpath("page.html").read_text(encoding="utf-8")
    return text.replace("<!-- widgets -->", sections or "<p>No dashboard with a custom widget is deployed.</p>")


def _section(properties: dict[str, Any]) -> str:
    data = {"endpoint": properties["endpoint"], "params": json.dumps(properties.get("params", {}))}
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    title = escape(properties.get("title", ""))
    return f'<section><h1>{title}</h1><div class="widget"{attributes}></div></section>'


def called(clients: _Clients, asked: dict[str, Any]) -> dict[str, str]:
    """What the function answers, as CloudWatch shows it: HTML without what acts, or text."""
    context = {"theme": asked.get("theme", "light"), "forms": {"all": asked.get("forms", {})}}
    event = json.dumps({**asked.get("payload", {}), "widgetContext": context})
    answer = clients.functions.invoke(FunctionName=asked["endpoint"], Payload=event)
    shown = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        return {"html": f"<pre>{escape(json.dumps(shown, indent=2))}</pre>"}
    return {"html": sanitized(shown) if isinstance(shown, str) else f"<pre>{escape(json.dumps(shown, indent=2))}</pre>"}


async def _answer(send: Any, status: int, kind: str, text: str) -> None:
    headers = [(b"content-type", kind.encode()), (b"x-frame-options", b"DENY")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
