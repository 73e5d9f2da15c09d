"""The page in a real browser: Chromium of the operating system, since nothing is downloaded for it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from lambdas.core.report.page.render import Files, render
from lambdas.core.report.report import Report

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "tests" / "page" / "screenshots"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")

Opened = tuple[Page, list[str]]
Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Skipped where there is none: `make test` installs it as root, an ordinary user may not."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser ({', '.join(NAMES)}); on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_html(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a page from a file; also what the console and the network said, which should be nothing."""
    contexts = []

    def open_(html: str, *, scheme: str = "light", width: int = 1100) -> Opened:
        target = tmp_path / "page.html"
        target.write_text(html)
        context = browser.new_context(
            color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 900}, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: said.append(request.url) if request.url != target.as_uri() else None)
        page.goto(target.as_uri())
        return page, said

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(open_html: Open) -> Open:
    """Open a report's page."""

    def open_(report: Report, files: Files | None = None, *, scheme: str = "light", width: int = 1100) -> Opened:
        return open_html(render(report, files), scheme=scheme, width=width)

    return open_
