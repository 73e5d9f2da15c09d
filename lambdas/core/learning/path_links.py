"""Which link a path's rate is a sample of: a path through third regions is as fast as the slowest of its links."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from lambdas.core.estimate.profile import Known, Profile
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Route, Stage, route_at, routes_of, slot_at
from lambdas.core.learning.path_rates import NOISE
from lambdas.core.learning.sample import Sample
from lambdas.core.transfer.accepted import AcceptedTransfer

LinkProfiles = Mapping[tuple[str, str], Profile]
"""Of an instance type on a region pair."""


def links_in_use(transfer: AcceptedTransfer, nodes: Iterable[Node]) -> list[str]:
    """Every link of the routes through third regions that had relays, as `from>to`."""
    there = list(nodes)
    found = [_links(route, route.stages) for route in routes_of(transfer) if route.between and route.own(there)]
    return sorted({link for links in found for link in links})


def link_at(transfer: AcceptedTransfer, node: Node) -> str | None:
    """The link of which a relay's own times are a sample: beside an end that of the ends, else the one that it feeds.

    How long a machine takes to start depends on its region and not on its route.
    """
    route = route_at(transfer, node.stage)
    stage = route.stage_of(node)
    return None if stage.end else _links(route, route.stages[node.stage - route.first :], beside_source=False)[0]


class PathLinks:
    """The links of a transfer's paths, and what was known of each by instance type."""

    def __init__(self, transfer: AcceptedTransfer, known: LinkProfiles) -> None:
        self._routes = routes_of(transfer)
        self._own = transfer.region_pair
        self._is_one_link = transfer.request.has_bucket
        self._profiles = known

    def of(self, path: str) -> tuple[str, ...]:
        """Region pairs `from>to` in the order in which data passes them: the ends' own where a relay dials S3."""
        if self._is_one_link:
            return (self._own,)
        for route in self._routes:
            if stages := [stage for stage in route.stages if slot_at(path, stage.index) is not None]:
                return _links(route, stages)
        return (self._own,)

    def named(self, link: str) -> str | None:
        """As a sample names it: None is the link of the ends."""
        return None if link == self._own else link

    def known(self, path: str, kind: str) -> list[Known | None]:
        """What was known of the rate of each of its links."""
        return [self._known(kind, link) for link in self.of(path)]

    def limit(self, path: str, kind: str) -> str | None:
        """The link that limits a path by what was known beforehand; None where nobody can tell.

        It is the one that is known to carry least. A link that nobody has measured counts as much as that of the ends,
        as in the estimate. Of links that are known to be alike it is the one whose last sample is older: that one has
        more likely changed.
        """
        links = self.of(path)
        if len(links) == 1:
            return links[0]
        counted = [self._known(kind, link) or self._known(kind, self._own) for link in links]
        found = [known.value for known in counted if known]
        if len(found) < len(links):
            return None
        ages = [known.at_seconds or 0.0 if known else 0.0 for known in (self._known(kind, link) for link in links)]
        alike = [at for at, rate in enumerate(found) if rate <= (1 + NOISE) * min(found)]
        return links[min(alike, key=lambda at: ages[at])]

    def samples(self, path: str, kind: str, rate: float, lasted_seconds: float) -> list[Sample]:
        """What a path's own rate, MB/s, teaches: it is that of the link that limits, and a lower bound of the others.

        A lower bound only raises what is known.
        """
        limit = self.limit(path, kind)
        return [
            Sample(kind, "interRegion", rate, lasted_seconds, self.named(link))
            for link in self.of(path)
            if link == limit or self._exceeds(rate, self._known(kind, link))
        ]

    def _known(self, kind: str, link: str) -> Known | None:
        profile = self._profiles.get((kind, link))
        return profile.known("interRegion") if profile else None

    @staticmethod
    def _exceeds(rate: float, known: Known | None) -> bool:
        # Two measurements of the same rate differ by less; if the higher ones alone counted, it would creep up.
        return known is not None and rate > (1 + NOISE) * known.value


def _links(route: Route, stages: Sequence[Stage], *, beside_source: bool = True) -> tuple[str, ...]:
    regions = [*([route.source.region] if beside_source else []), *(stage.region for stage in stages)]
    pairs = pairwise([*regions, route.destination.region])
    return tuple(f"{start}>{end}" for start, end in pairs if start != end)
