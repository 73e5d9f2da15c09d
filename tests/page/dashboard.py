"""The local cloud's dashboard in a browser; the functions behind it are the pages' own code."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Route

from lambdas.core.watch.overview import Execution, Running
from lambdas.core.watch.page import Theme, message, overview_page, transfer_page, waves_page
from local.dashboard.sanitized import sanitized
from tests.lambdas.core.watch.test_page import ACTS, MOVING, WAITING, WAVES

WIDGET = '<section><h1>Live</h1><div class="widget" data-endpoint="show" data-params="{}"></div></section>'
PAGE = Path(__file__).parents[2] / "local" / "dashboard" / "page.html"
URL = "http://dashboard.test/_local/dashboard"
TOKEN = "0123456789abcdef"


def opened(browser: Browser, scheme: str, width: int) -> tuple[BrowserContext, Page, list[dict[str, Any]]]:
    """It, once all transfers are shown; also what was called, in order."""
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 900}
    )
    page, calls = context.new_page(), list[dict[str, Any]]()

    def called(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")
        calls.append(asked)
        route.fulfill(json={"html": sanitized(answered(asked))})

    page.route("**/call", called)
    html = PAGE.read_text(encoding="utf-8").replace("<!-- widgets -->", WIDGET)
    page.route(URL, lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(URL)
    page.wait_for_selector('.widget[data-shown="1"]')
    return context, page, calls


def answered(asked: dict[str, Any]) -> str:
    """What the function that is called shows."""
    theme: Theme = "dark" if asked["theme"] == "dark" else "light"
    if asked["endpoint"] != "show":
        return message("done", theme)
    states = {"nightly": MOVING, "large": WAITING}
    chosen = asked["payload"].get("transferId")
    if chosen:
        return transfer_page(states[chosen], ACTS, theme)
    if asked["payload"].get("label"):
        return waves_page(WAVES, ACTS, theme)
    ended = [Execution("old", "SUCCEEDED", 1_795_254_000.0, 1_795_254_016.0)]
    return overview_page(Running(list(states.values()), 2), ended, 1_795_257_600.0, ACTS, theme, [WAVES], token=TOKEN)
