"""Draw the pictures of docs: the live page, and the upper half of a report's page.

The report is the report.json that is named, or of an invented run.
"""

import json
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from lambdas.core.report.page.render import render
from lambdas.core.report.report import Report
from tests.page import scenarios
from tests.page.conftest import NAMES, ROOT
from tests.page.dashboard import opened

DOCS = ROOT / "docs"
WIDTH = 1080


def main(arguments: list[str]) -> None:
    """As wide as a README."""
    browser_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit(f"no browser ({', '.join(NAMES)}); on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        named = Path(arguments[0]) if arguments else None
        draw_report(browser, Report.from_document(json.loads(named.read_text())) if named else scenarios.succeeded())
        draw_live_page(browser)
        browser.close()


def draw_report(browser: Browser, report: Report) -> None:
    """Until below the lanes."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.set_content(render(report))
    box = page.locator("section[aria-labelledby=chunks]").bounding_box()
    assert box is not None
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 16}
    page.screenshot(path=DOCS / "report.png", full_page=True, clip=clip)  # type: ignore[arg-type]


def draw_live_page(browser: Browser) -> None:
    """All transfers, and the form that starts another one."""
    context, page, _ = opened(browser, "light", WIDTH)
    page.locator(".widget").screenshot(path=DOCS / "live-page.png")
    context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
