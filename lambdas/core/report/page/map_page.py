"""The map of the network as one HTML page, in the style of the report's: a pure function of the document."""

from dataclasses import dataclass

from lambdas.core.estimate.link_figures import LinkFigure
from lambdas.core.estimate.network_map import LEAST_TIMES, NetworkMap, WiderWay
from lambdas.core.report.page.map_picture import FRAMES, MapPicture, map_picture
from lambdas.core.report.page.render import style, template

ORIGINS = {
    "measured": "measured by transfers and pre-tests",
    "configured": "configured by the operator",
    "published": "as AWS publishes it",
    "assumed": "assumed",
}


@dataclass(frozen=True)
class TypeMap:
    """What the page has of one type of relay."""

    instance_type: str
    pictures: list[MapPicture]
    links: list[LinkFigure]
    ways: list[WiderWay]


def render_map(found: NetworkMap) -> str:
    """HTML, without scripts and without anything from elsewhere."""
    css, css_hash = style()
    types = []
    for kind in found.instance_types:
        links = list(found.links_of(kind).values())
        pictures = [map_picture(links, found.regions, frame) for frame in FRAMES]
        types.append(TypeMap(kind, pictures, links, [way for way in found.ways if way.instance_type == kind]))
    seen = {one.origin for one in found.links}
    return template("map.html").render(
        found=found,
        types=[one for one in types if one.links],
        origins={name: words for name, words in ORIGINS.items() if name in seen},
        least_times=LEAST_TIMES,
        style=css,
        style_hash=css_hash,
    )
