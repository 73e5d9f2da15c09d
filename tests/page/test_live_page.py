"""The live page in a real browser, on the local cloud's dashboard: light and dark, wide and narrow, by keyboard."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from tests.chaos.extent import cases
from tests.page.conftest import AXE, SCREENSHOTS
from tests.page.dashboard import TOKEN, opened

REQUEST = '{"name": "nightly",\n "source": "<b>&amp;"}'
Dashboard = Callable[..., tuple[Page, list[dict[str, Any]]]]


@pytest.fixture
def dashboard(browser: Browser) -> Iterator[Dashboard]:
    """Opens it; also what was called, in order."""
    contexts: list[BrowserContext] = []

    def open_(scheme: str = "light", width: int = 1280) -> tuple[Page, list[dict[str, Any]]]:
        context, page, calls = opened(browser, scheme, width)
        contexts.append(context)
        return page, calls

    yield open_
    for context in contexts:
        context.close()


NAMES = (None, "nightly", "large", "archive")
LOOKS = [(scheme, width, name) for name in NAMES for scheme in ("light", "dark") for width in (1280, 390)]


@pytest.mark.parametrize(("scheme", "width", "name"), cases(LOOKS, LOOKS[::5]))
def test_it_is_readable(dashboard: Dashboard, scheme: str, width: int, name: str | None) -> None:
    page, _ = dashboard(scheme, width)
    if name:
        page.get_by_role("button", name=name).click()
        page.wait_for_selector('.widget[data-shown="2"]')
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"live-{name or 'all'}-{scheme}-{width}.png", full_page=True)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document).then((found) => found.violations.map((one) => one.id + ': ' + one.help))")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


def agreeing(page: Page) -> list[str]:
    """What the person is asked, and agrees to."""
    asked: list[str] = []

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", agree)
    return asked


def test_a_person_approves_by_keyboard_after_being_asked(dashboard: Dashboard) -> None:
    page, calls = dashboard()
    asked = agreeing(page)
    page.get_by_role("button", name="large").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector('.widget[data-shown="2"]')
    page.get_by_role("button", name="Approve 3").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert asked == ["Approve large with 3 pairs for about $0.0500?"]
    assert calls[-1]["payload"] == {"transferId": "large", "decision": "approve", "pairs": 3}
    assert page.locator("dialog .good").inner_text() == "done"


def test_a_limit_is_what_the_field_says(dashboard: Dashboard) -> None:
    page, calls = dashboard()
    page.get_by_role("button", name="nightly").click()
    page.get_by_label("Limit, Mbit/s").fill("80")
    page.get_by_role("button", name="Set the limit").click()
    page.wait_for_selector("dialog[open]")
    assert (calls[-1]["endpoint"], calls[-1]["payload"]) == ("limit", {"transferId": "nightly"})
    assert calls[-1]["forms"] == {"bandwidthLimitMbps": "80"}


def test_a_person_starts_the_text_of_the_form_by_keyboard_after_being_asked(dashboard: Dashboard) -> None:
    page, calls = dashboard()
    asked = agreeing(page)
    page.get_by_label("Request, as JSON").focus()
    page.keyboard.insert_text(REQUEST)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert asked == ["Start a transfer of this request?"]
    assert (calls[-1]["endpoint"], calls[-1]["payload"]) == ("start", {"token": TOKEN})
    assert calls[-1]["forms"] == {"request": REQUEST}
    page.keyboard.press("Escape")
    assert page.get_by_label("Request, as JSON").input_value() == REQUEST, "what was written stays, to be corrected"


def test_who_does_not_agree_calls_nothing(dashboard: Dashboard) -> None:
    page, calls = dashboard()
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="nightly").click()
    page.wait_for_selector('.widget[data-shown="2"]')
    page.get_by_role("button", name="Cancel").click()
    assert [call["endpoint"] for call in calls] == ["show", "show"]
