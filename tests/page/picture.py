"""Draw docs/report.png: the top of a report's page, for the README."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from lambdas.core.page.render import render
from tests.page import scenarios
from tests.page.conftest import NAMES, ROOT

TARGET = ROOT / "docs" / "report.png"
WIDTH = 1080


def main() -> None:
    """Until below the picture of the rate; a page that is as wide as a README."""
    browser_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser_path is None:
        raise SystemExit(f"no browser ({', '.join(NAMES)}); on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(render(scenarios.succeeded(), scenarios.files()))
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(page_file.as_uri())
        box = page.locator("section[aria-labelledby=chunks]").bounding_box()
        assert box is not None
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 16}
        page.screenshot(path=TARGET, full_page=True, clip=clip)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main()
