"""The map of the network in a terminal: a matrix for each type of relay, from the row's region to the column's."""

from collections.abc import Collection, Mapping
from math import inf
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table

from cli.console import Text
from cli.fitting import Fitted
from cli.options import and_local
from lambdas.core.estimate.link_figures import LinkFigure
from lambdas.core.estimate.network_map import LEAST_TIMES, NetworkMap, WiderWay
from lambdas.core.words import age, many, three_digits

Form = Literal["names", "numbers", "list"]
"""Regions over the columns by their names, by their numbers, or a link a line: the widest for which there is room."""
FORMS: tuple[Form, ...] = ("names", "numbers", "list")
# Rates are coloured by the widest link of the type: from these shares of it on.
_WIDE, _MIDDLING = 2 / 3, 1 / 3
# Ways that a person reads; the others are in the document and on the page.
SHOWN_WAYS = 12
_UNLIMITED = 10_000


def map_view(found: NetworkMap, console: Console) -> RenderableType:
    """All types, each with the ways through third regions, as `console` has room for them."""
    if not found.links:
        return Text("there are no links: a deployment has some where two or more regions are enrolled (docs/deploy.md)")
    parts: list[RenderableType] = []
    forms: set[Form] = set()
    for kind in found.instance_types:
        form, table = _widest_that_fits(found, kind, console)
        forms.add(form)
        parts += [Text(f"{kind}: MB/s through one pair of relays, from region to region", style="bold"), table]
        parts += _ways([way for way in found.ways if way.instance_type == kind])
    return Group(*parts, *(Text(note, style="dim") for note in [*_legend(found, forms), *found.notes]))


def _widest_that_fits(found: NetworkMap, kind: str, console: Console) -> tuple[Form, RenderableType]:
    unlimited = console.options.update(max_width=_UNLIMITED)
    for form in FORMS[:-1]:
        table = _matrix(found, kind, form)
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            return form, table
    return "list", Fitted(_list(found, kind), sentences=["known as"])


def _matrix(found: NetworkMap, kind: str, form: Form) -> Table:
    links, widest = _links(found, kind)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("from \\ to", no_wrap=True)
    for place, region in enumerate(found.regions, 1):
        table.add_column(region if form == "names" else str(place), justify="right", no_wrap=True)
    for place, start in enumerate(found.regions, 1):
        cells = [_cell(links.get((start, end)), widest, found.at, form) for end in found.regions]
        table.add_row(start if form == "names" else f"{place} {start}", *cells)
    return table


def _list(found: NetworkMap, kind: str) -> Table:
    links, widest = _links(found, kind)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("from", no_wrap=True)
    table.add_column("to", no_wrap=True)
    table.add_column("MB/s", justify="right", no_wrap=True)
    table.add_column("known as")
    for (start, end), one in links.items():
        table.add_row(start, end, Text(_rate(one), style=_style(one, widest)), _source(one, found.at, "list"))
    return table


def _links(found: NetworkMap, kind: str) -> tuple[Mapping[tuple[str, str], LinkFigure], float]:
    """Of a type, and the rate of the widest."""
    links = found.links_of(kind)
    return links, max(one.counted for one in links.values())


def _cell(one: LinkFigure | None, widest: float, now: float, form: Form) -> Text:
    if one is None:
        return Text("–", style="dim")
    return Text.assemble((_rate(one), _style(one, widest)), ("\n" + _source(one, now, form), "dim"))


def _rate(one: LinkFigure) -> str:
    """What plans count on, and what lasts where that is less: `110 → 16.0`."""
    lasting = f" → {three_digits(one.lasting)}" if one.lasting < one.counted else ""
    return three_digits(one.counted) + lasting


def _source(one: LinkFigure, now: float, form: Form) -> str:
    """Its origin, the age of its last sample, a mark where that is stale: `measured 2 d!`, where narrow `m2d!`."""
    seconds = one.age_seconds(now)
    long = one.origin + ("" if seconds is None else f" {age(seconds)}") + ("!" if one.is_stale else "")
    return long.replace(one.origin, one.origin[0]).replace(" ", "") if form == "numbers" else long


def _style(one: LinkFigure, widest: float) -> str:
    share = one.counted / widest if widest else 0.0
    return "green" if share >= _WIDE else "yellow" if share >= _MIDDLING else "red"


def _ways(ways: list[WiderWay]) -> list[RenderableType]:
    """Those that are known first, then by how much wider they are."""
    if not ways:
        return []
    table = Table(box=SIMPLE_HEAD)
    table.add_column("wider through a third region")
    for name in ("direct", "this way", "times", "$/GB"):
        table.add_column(name, justify="right", no_wrap=True)
    ordered = sorted(ways, key=lambda way: (not way.is_known, -(way.times or inf)))
    for way in ordered[:SHOWN_WAYS]:
        times = "–" if way.times is None else f"{way.times:.2f} ×"
        route = f"{way.from_region} → {way.through} → {way.to_region}"
        width = three_digits(way.width) + ("" if way.is_known else "?")
        table.add_row(route, three_digits(way.direct), width, times, f"{way.usd_per_gb:.4g}")
    left = len(ways) - SHOWN_WAYS
    return [
        Fitted(table),
        *(
            [Text(f"and {many(left, 'way')} more: cpt map{and_local()} --html, cpt map{and_local()} --json")]
            if left > 0
            else []
        ),
    ]


def _legend(found: NetworkMap, forms: Collection[Form]) -> list[str]:
    lines = ["m measured (m2h: two hours ago), c configured, p published, a assumed"] if "numbers" in forms else []
    if forms != {"numbers"} and any(one.last_sample_at is not None for one in found.links):
        lines.append("measured 2 h: the last sample is two hours old")
    if any(one.lasting < one.counted for one in found.links):
        lines.append("110 → 16: 110 MB/s at first, 16 once network credits are spent")
    if any(one.is_stale for one in found.links):
        lines.append("! stale: older than a day, and counted less by one standard deviation")
    if any(not way.is_known for way in found.ways):
        lines.append("? nobody has measured or configured both links of this way")
    if not found.ways and len(found.regions) > 2:
        lines.append(f"no third region makes a way {LEAST_TIMES:g} times as wide as the direct one")
    return lines
