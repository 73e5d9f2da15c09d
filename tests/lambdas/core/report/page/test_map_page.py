"""The map's page as text; tests/page looks at it in a browser."""

from dataclasses import replace

from lambdas.core.estimate.link_figures import link_figure
from lambdas.core.estimate.network_map import NetworkMap, Wanted
from lambdas.core.report.page.map_page import render_map
from tests.lambdas import maps
from tests.lambdas.core.report.page.test_render import Tags
from tests.lambdas.maps import LARGE, NOW, REGIONS, network, terms


def test_page_has_no_scripts_no_styles_of_elements_and_links_only_to_itself() -> None:
    tags = Tags()
    tags.feed(render_map(maps.varied()))
    assert {tag for tag, _ in tags.seen}.isdisjoint({"script", "img", "iframe", "link", "object", "embed", "base"})
    for tag, attributes in tags.seen:
        assert not any(key.startswith("on") or key in ("style", "src") for key in attributes), tag
    anchors = {attributes["href"] for tag, attributes in tags.seen if tag == "a"}
    assert anchors <= {f"#{attributes['id']}" for _, attributes in tags.seen if "id" in attributes}


def test_each_type_has_a_picture_and_a_row_for_each_link() -> None:
    page = render_map(maps.varied())
    assert page.count('<svg class="wide map"') == page.count('<svg class="narrow map"') == 2
    assert page.count('<td class="region">') == 24 + 2 * 5
    assert "us-west-2 to eu-west-1: 310 MB/s, measured, 9 samples, the last 2 h ago, $0.02 per GB" in page
    assert "eu-west-1 to us-west-2: 250 MB/s, measured, 4 samples, the last 3 d ago, stale" in page
    assert "us-west-2 to eu-west-1: 110 MB/s, later 16.0 MB/s, measured" in page


def test_origins_that_do_not_occur_are_not_in_the_legend() -> None:
    page = render_map(network({}, REGIONS[:2]))
    assert "as AWS publishes it" in page
    assert "configured by the operator" not in page


def test_where_no_third_region_helps_it_says_so() -> None:
    assert "No third region makes a way 1.15 times as wide" in render_map(network({}, REGIONS[:3]))
    assert "third region" not in render_map(network({}, REGIONS[:2]))


def test_without_links_it_says_why() -> None:
    empty = NetworkMap.of([], Wanted(regions=REGIONS[:1], instance_types=[LARGE]), NOW)
    assert "There are no links" in render_map(empty)


def test_notes_are_data() -> None:
    wanted = Wanted(regions=REGIONS[:2], instance_types=[LARGE])
    said = "<script>alert(1)</script>"
    links = [link_figure(link, None, replace(terms(link)), NOW) for link in wanted.links()]
    page = render_map(NetworkMap.of(links, wanted, NOW, [said]))
    assert said not in page
    assert "&lt;script&gt;" in page
