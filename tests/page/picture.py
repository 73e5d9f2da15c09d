"""Draw docs/report.png, the upper half of a report's page: of the report.json that is named, or of an invented run."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from lambdas.core.report.page.render import render
from lambdas.core.report.report import Report
from tests.page import scenarios
from tests.page.conftest import NAMES, ROOT

TARGET = ROOT / "docs" / "report.png"
WIDTH = 1080


def main(arguments: list[str]) -> None:
    """Until below the lanes; as wide as a README."""
    named = Path(arguments[0]) if arguments else None
    report = Report.from_document(json.loads(named.read_text())) if named else scenarios.succeeded()
    browser_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit(f"no browser ({', '.join(NAMES)}); on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(render(report))
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(page_file.as_uri())
        box = page.locator("section[aria-labelledby=chunks]").bounding_box()
        assert box is not None
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 16}
        page.screenshot(path=TARGET, full_page=True, clip=clip)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
