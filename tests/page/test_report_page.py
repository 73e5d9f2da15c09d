"""What a person sees of a report, in light and dark, on a desk and a phone; screenshots are kept beside this file."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.chaos.extent import cases
from tests.page import scenarios
from tests.page.conftest import AXE, SCREENSHOTS, Open

LOOKS = [("light", 1100), ("dark", 1100), ("light", 390), ("dark", 390)]
SEEN = [("succeeded", *look) for look in cases(LOOKS, [LOOKS[0], LOOKS[3]])]
OTHERS = [name for name in scenarios.ALL if name != "succeeded"]
EACH_ONCE = [(name, *LOOKS[3 * (number % 2)]) for number, name in enumerate(OTHERS)]
SEEN += cases([(name, *look) for name in OTHERS for look in (LOOKS[0], LOOKS[3])], EACH_ONCE)
# 4.5 : 1 for text and 3 : 1 for what must be seen beside it; axe judges the rest of WCAG 2.2 AA.
LEAST_CONTRAST = 3.0


def axe(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found: dict[str, Any] = page.evaluate("tags => axe.run({runOnly: {type: 'tag', values: tags}})", tags)
    return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]


@pytest.mark.parametrize(("name", "scheme", "width"), SEEN)
def test_page_is_accessible_silent_and_as_wide_as_the_screen(
    name: str, scheme: str, width: int, open_page: Open
) -> None:
    page, said = open_page(scenarios.ALL[name](), scenarios.files(), scheme=scheme, width=width)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert axe(page) == []
    assert said == []


def test_hostile_names_stay_text(open_page: Open) -> None:
    page, said = open_page(scenarios.hostile(), scenarios.files())
    assert page.locator("script, img, iframe, object, link").count() == 0
    assert page.locator(".cause").inner_text() == scenarios.HOSTILE
    names = page.locator("td.path").all_text_contents()
    assert names[:5] == [
        "set/</td><script>alert(1)</script>",
        "set/Latin-1%20%E9t%E9.txt",
        "set/café ☕.txt",
        "set/line%0Abreak.txt",
        "set/gpj.exe%E2%80%AEimages.jpg",
    ]
    assert "49" not in page.locator("h1").inner_text()
    assert said == []


def test_scripts_would_not_run_even_if_there_were_any(open_page: Open) -> None:
    page, said = open_page(scenarios.short())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    page.evaluate(
        "document.body.appendChild(Object.assign(document.createElement('script'), {text: 'document.title=1'}))"
    )
    assert page.title() == "nightly-backup: succeeded – CPT report"
    refusals = [text for text in said if "Content Security Policy" in text]
    assert [text.split(" ")[1] for text in refusals] == ["inline", "the", "inline"]  # handler, image, script


def test_everything_is_reached_by_keyboard(open_page: Open) -> None:
    page, _ = open_page(scenarios.succeeded(), scenarios.files())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the report"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "(e => e.getAttribute('href') ?? e.getAttribute('aria-label') ?? e.textContent)(document.activeElement)"
            )
        )
    assert {"#rate", "#files", "Table: Relays", "The lanes as a table", "200 files"} <= reached
    summary = page.get_by_text("The lanes as a table")
    summary.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("region", name="Table: Lanes").is_visible()


@pytest.mark.parametrize("name", ["succeeded", "large"])
@pytest.mark.parametrize("width", [1100, 390])
def test_labels_of_the_pictures_do_not_cover_each_other(name: str, width: int, open_page: Open) -> None:
    page, _ = open_page(scenarios.ALL[name](), width=width)
    for picture in page.locator("figure svg:visible").all():
        boxes = [text.bounding_box() for text in picture.locator("text").all()]
        outer = picture.bounding_box()
        assert outer is not None
        for number, one in enumerate(boxes):
            assert one is not None
            assert outer["x"] - 1 <= one["x"] <= one["x"] + one["width"] <= outer["x"] + outer["width"] + 1
            for other in boxes[number + 1 :]:
                assert other is not None
                apart = (
                    one["x"] + one["width"] <= other["x"] + 1
                    or other["x"] + other["width"] <= one["x"] + 1
                    or one["y"] + one["height"] <= other["y"] + 4
                    or other["y"] + other["height"] <= one["y"] + 4
                )
                assert apart, f"{one} covers {other}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_the_pictures_stand_out_from_the_card(scheme: str, open_page: Open) -> None:
    page, _ = open_page(scenarios.large(), scheme=scheme)
    card = luminance(page.locator("#rate").locator("..").evaluate("e => getComputedStyle(e).backgroundColor"))
    for shade in range(8):
        fill = luminance(page.locator(f"rect.shade-{shade}").first.evaluate("e => getComputedStyle(e).fill"))
        contrast = (max(card, fill) + 0.05) / (min(card, fill) + 0.05)
        assert contrast >= LEAST_CONTRAST, f"shade {shade}: {contrast:.2f}"


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of `rgb(…)`."""
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_on_paper_in_black_on_white(open_page: Open) -> None:
    page, _ = open_page(scenarios.succeeded(), scenarios.files(), scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    SCREENSHOTS.mkdir(exist_ok=True)
    paper = page.pdf(path=SCREENSHOTS / "succeeded.pdf", format="A4", print_background=True)
    assert paper.startswith(b"%PDF")


def test_pictures_of_one_time_lie_under_each_other(open_page: Open) -> None:
    page, _ = open_page(scenarios.succeeded())
    axes = [axis.bounding_box() for axis in page.locator("figure svg.wide .axis").all()]
    assert len(axes) == 2
    assert axes[0] is not None
    assert axes[1] is not None
    assert (axes[0]["x"], axes[0]["width"]) == pytest.approx((axes[1]["x"], axes[1]["width"]), abs=0.1)
