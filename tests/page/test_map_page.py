"""The map of the network as a person sees it in a browser, in light and dark, on a desk and a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from lambdas.core.estimate.network_map import NetworkMap
from lambdas.core.report.page.map_page import render_map
from tests.chaos.extent import cases
from tests.lambdas import maps
from tests.page.conftest import SCREENSHOTS, Opened
from tests.page.test_report_page import LEAST_CONTRAST, LOOKS, axe, luminance

SCENARIOS: dict[str, Callable[[], NetworkMap]] = {
    "map": maps.varied,
    "map-of-ten": maps.wide,
    "map-unknown": lambda: maps.network({}, maps.REGIONS[:2]),
}
OpenHtml = Callable[..., Opened]


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    cases(
        [(name, *look) for name in SCENARIOS for look in LOOKS],
        [(name, *look) for number, name in enumerate(SCENARIOS) for look in LOOKS[number % 2 :: 3]],
    ),
)
def test_map_is_accessible_silent_and_as_wide_as_the_screen(
    name: str, scheme: str, width: int, open_html: OpenHtml
) -> None:
    page, said = open_html(render_map(SCENARIOS[name]()), scheme=scheme, width=width)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert axe(page) == []
    assert said == []


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("width", [1100, 390])
def test_names_of_regions_do_not_cover_each_other(name: str, width: int, open_html: OpenHtml) -> None:
    page, _ = open_html(render_map(SCENARIOS[name]()), width=width)
    for picture in page.locator("figure svg.map:visible").all():
        outer = box(picture)
        boxes = [box(text) for text in picture.locator("text").all()]
        for number, one in enumerate(boxes):
            assert outer[0] - 1 <= one[0] <= one[2] <= outer[2] + 1
            for other in boxes[number + 1 :]:
                apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] + 2 or other[3] <= one[1] + 2
                assert apart, f"{one} covers {other}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_origins_stand_out_from_the_card_by_colour_and_by_dashes(scheme: str, open_html: OpenHtml) -> None:
    page, _ = open_html(render_map(maps.varied()), scheme=scheme)
    card = luminance(page.locator("section").first.evaluate("e => getComputedStyle(e).backgroundColor"))
    dashes = set()
    for origin in ("measured", "configured", "published"):
        curve = page.locator(f"svg.wide .link.{origin} .curve").first
        stroke = luminance(curve.evaluate("e => getComputedStyle(e).stroke"))
        assert (max(card, stroke) + 0.05) / (min(card, stroke) + 0.05) >= LEAST_CONTRAST, origin
        dashes.add(curve.evaluate("e => getComputedStyle(e).strokeDasharray"))
    assert len(dashes) == 3


def test_figures_of_an_arrow_are_shown_where_the_pointer_rests_and_the_others_step_back(open_html: OpenHtml) -> None:
    page, _ = open_html(render_map(maps.varied()))
    arrow = page.locator("svg.wide .link", has=page.locator("title", has_text="us-west-2 to eu-west-1: 310")).first
    other = page.locator("svg.wide .link.published").first
    assert opacity(other) == 1.0
    arrow.locator(".head").hover()
    assert opacity(arrow) == 1.0
    assert opacity(other) < 0.5


def test_table_beneath_is_reached_by_keyboard(open_html: OpenHtml) -> None:
    page, _ = open_html(render_map(maps.varied()))
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert {"Table: Links, c6in.large", "Table: Links, t3.small"} <= reached


def opacity(locator: Locator) -> float:
    return float(locator.evaluate("e => getComputedStyle(e).opacity"))


def box(locator: Locator) -> tuple[float, float, float, float]:
    found = locator.bounding_box()
    assert found is not None
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]
