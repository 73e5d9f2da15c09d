"""The map of the network: every link between the enrolled regions, and where a third region makes a wider way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Annotated, Literal, Self

from pydantic import Field

from lambdas.core.documents import Document, InstanceType, Region
from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.figures import NonNegative
from lambdas.core.estimate.link_figures import LinkFigure, LinkKey, Terms, link_figure
from lambdas.core.estimate.profile import Profile
from lambdas.core.tariff.prices import PriceItem

LEAST_TIMES = 1.15
"""A way through a third region that is not so many times as wide as the direct one is not worth its second border."""
MOST_LINKS = 2_500
"""An answer of Lambda's is 6 MB at most, and a link takes up to 2 kB of it."""

Known = Mapping[tuple[str, str], Profile]


class WiderWay(Document):
    """Contract `network-map`, `ways`: of all ways through one third region the widest, by what plans count on."""

    from_region: Region
    through: Region
    to_region: Region
    instance_type: InstanceType
    width: NonNegative = Field(alias="widthMBps")
    """The narrower of its two links."""
    direct: NonNegative = Field(alias="directMBps")
    usd_per_gb: NonNegative = Field(alias="usdPerGB")
    """Egress of both borders."""
    is_known: bool
    """Whether both links were measured or configured: what AWS publishes is of the machine, not of the link."""

    @property
    def times(self) -> float | None:
        """How many times as wide as the direct link; None where that carries nothing."""
        return self.width / self.direct if self.direct else None


class NetworkMap(Document):
    """Contract `network-map`: links by type, then by region as they were asked for."""

    schema_version: Literal[1] = 1
    at: Annotated[float, Field(ge=0)]
    """When it was made, Unix seconds; ages of samples count until then."""
    regions: list[Region]
    instance_types: list[InstanceType]
    links: list[LinkFigure]
    ways: list[WiderWay]
    notes: list[str]

    @classmethod
    def of(cls, figures: Sequence[LinkFigure], wanted: "Wanted", now: float, notes: Iterable[str] = ()) -> Self:
        """From the figures of all its links."""
        return cls(
            at=now,
            regions=list(wanted.regions),
            instance_types=list(wanted.instance_types),
            links=list(figures),
            ways=[way for kind in wanted.instance_types for way in _ways(figures, wanted.regions, kind)],
            notes=list(notes),
        )

    def links_of(self, instance_type: str) -> dict[tuple[str, str], LinkFigure]:
        """Its links by where they begin and end."""
        return {(one.from_region, one.to_region): one for one in self.links if one.instance_type == instance_type}


class Wanted(Document):
    """Contract `estimate-request`, `map`: which part of the map; what is absent is all that the deployment has."""

    regions: list[Region] = Field(default_factory=list)
    instance_types: list[InstanceType] = Field(default_factory=list)

    def within(self, regions: Sequence[str], instance_types: Sequence[str]) -> "Wanted":
        """With what was left out; raises InvalidRequest for what the deployment does not have, or for too much."""
        problems = [
            f"$.map.regions[{place}]: '{name}' is not enrolled; regions of this deployment: {', '.join(regions)}"
            for place, name in enumerate(self.regions)
            if name not in regions
        ]
        problems += [
            f"$.map.instanceTypes[{place}]: '{name}' is not a relay type of this deployment; allowed: "
            f"{', '.join(instance_types)}"
            for place, name in enumerate(self.instance_types)
            if name not in instance_types
        ]
        if len(set(self.regions)) == 1 < len(regions):
            problems.append("$.map.regions: one region alone has no links; name two or more, or none for all")
        if problems:
            raise InvalidRequest(problems)
        # Each once, in the order in which it was named.
        wanted = Wanted(
            regions=list(dict.fromkeys(self.regions or regions)),
            instance_types=list(dict.fromkeys(self.instance_types or instance_types)),
        )
        if (count := len(list(wanted.links()))) > MOST_LINKS:
            raise InvalidRequest(f"$.map: {count:,} links; name fewer types or regions: {MOST_LINKS:,} are the most")
        return wanted

    def links(self) -> Iterator[LinkKey]:
        """Each type on each pair of regions, there and back."""
        for kind, (one, other) in product(self.instance_types, permutations(self.regions, 2)):
            yield LinkKey(one, other, kind)

    def prices(self) -> list[PriceItem]:
        """What its borders cost."""
        return [PriceItem("egress-gb", one, other) for one, other in permutations(self.regions, 2)]


def figures(wanted: Wanted, known: Known, terms: Mapping[LinkKey, Terms], now: float) -> list[LinkFigure]:
    """Of all links that are wanted; `known`: profiles by type and region pair."""
    return [
        link_figure(link, known.get((link.instance_type, link.region_pair)), terms[link], now)
        for link in wanted.links()
    ]


def _ways(links: Iterable[LinkFigure], regions: Sequence[str], instance_type: str) -> Iterator[WiderWay]:
    by_ends = {(one.from_region, one.to_region): one for one in links if one.instance_type == instance_type}
    for (start, end), direct in by_ends.items():
        ways = [(by_ends[start, via], by_ends[via, end]) for via in regions if via not in (start, end)]
        if not ways:
            continue
        # Of equally wide ones the cheaper.
        first, second = max(ways, key=lambda way: (min(_counted(way)), -sum(one.egress.value for one in way)))
        width = min(first.counted, second.counted)
        if width > 0 and width >= LEAST_TIMES * direct.counted:
            yield WiderWay(
                from_region=start,
                through=first.to_region,
                to_region=end,
                instance_type=instance_type,
                width=width,
                direct=direct.counted,
                usd_per_gb=first.egress.value + second.egress.value,
                is_known=all(one.origin in ("measured", "configured") for one in (first, second)),
            )


def _counted(way: tuple[LinkFigure, LinkFigure]) -> tuple[float, float]:
    return way[0].counted, way[1].counted
