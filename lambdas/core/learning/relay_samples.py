"""What the relays of a finished transfer teach: how they started, and what their paths and pre-tests showed."""

from collections.abc import Iterable, Sequence
from math import inf
from statistics import fmean, median

from lambdas.core.fleet.membership import DIRECT
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import leads_through, path_id, routes_of
from lambdas.core.learning.path_links import PathLinks, link_at
from lambdas.core.learning.path_rates import LEAST_SECONDS, Rates
from lambdas.core.learning.sample import Sample
from lambdas.core.transfer.accepted import AcceptedTransfer

LEAST_PAIR_GAIN = 0.01
"""A further pair adds something, however the samples differ."""
LEAST_SPREAD = 0.15
"""Relays of one type differ by this share of their mean at least, in the thesis' measurements (Figures 6.3, 6.4)."""

_Alike = tuple[str, str]


class Relays:
    """Relays by path; `types`: their type, where all relays of a path are of one, and none lends but a share.

    `beside`: when other transfers used the same ends, Unix seconds; a pre-test of that time counts as none.
    """

    def __init__(
        self,
        transfer: AcceptedTransfer,
        nodes: list[Node],
        used: Iterable[str],
        links: PathLinks,
        beside: Sequence[tuple[float, float]] = (),
    ) -> None:
        self._transfer, self._started, self._links = transfer, nodes, links
        nodes = [_tested_alone(node, beside) for node in nodes]
        self._whole = {
            path_id([node.slot] * len(route.stages), route.first)
            for route in routes_of(transfer)
            for node in route.own(nodes)
        }
        paths = {*self._whole, *used} - {DIRECT}
        through = {path: [node for node in nodes if leads_through(path, node)] for path in sorted(paths)}
        self._by_path = {path: both for path, both in through.items() if both}
        # A pair goes as fast as the slower of the two: of two types, nobody can tell which one that was.
        kinds = {path: {node.instance_type for node in both} for path, both in self._by_path.items()}
        whole = {path for path, both in self._by_path.items() if all(node.is_ours for node in both)}
        self.types = {path: kind for path, (kind, *others) in kinds.items() if path in whole and not others}

    def tested(self) -> Rates:
        """Pre-tested MB/s of the pairs that kept their relays."""
        return {
            path: min(node.measured_inter_region or 0.0 for node in both)
            for path, both in self._by_path.items()
            if all(node.measured_inter_region and not node.generation for node in both)
        }

    def likely(self) -> Rates:
        """MB/s that each path should reach at least, by what others of its type did on the same links."""
        known = {path: self._links.known(path, kind) for path, kind in self.types.items()}
        return {
            path: min(max(one.value - max(one.sigma, LEAST_SPREAD * one.value), 0.0) for one in every if one)
            for path, every in known.items()
            if all(every)
        }

    def samples(self) -> list[Sample]:
        """Start-up times of those that joined or were pre-tested, and what the pre-test found, whom it rejected too."""
        return [*self._spawns(), *self._pre_tests(), *self._hops()]

    def gains(self, free: Iterable[Rates], tested: Rates) -> list[Sample]:
        """What paths of one type that one link limits add after the first: (rate(n)/rate(1) - 1)/(n - 1), of the most
        paths (GEO-DMS). rate(1) is the mean of those whose own rate is known, by a pre-test or as the only one.

        One sample may be above 1, because relays differ. Only so the mean of many is what pairs add.
        """
        sums: dict[tuple[_Alike, frozenset[str]], list[float]] = {}
        for second in free:
            rates = {path: rate for path, rate in second.items() if path != DIRECT}
            alike = {self._alike(path) for path in rates}
            if len(alike) == 1 and (one := alike.pop()):
                sums.setdefault((one, frozenset(rates)), []).append(sum(rates.values()))
        known = {key: median(every) for key, every in sums.items() if len(every) >= LEAST_SECONDS}
        alone = {path: rate for (_, paths), rate in known.items() if len(paths) == 1 for path in paths}
        singles = {**alone, **{path: rate for path, rate in tested.items() if rate}}
        most: dict[_Alike, frozenset[str]] = {}
        for one, paths in known:
            if len(paths) > len(most.get(one, ())):
                most[one] = paths
        found = []
        for (kind, limit), paths in sorted(most.items()):
            own = [rate for path, rate in singles.items() if path in paths]
            if len(paths) > 1 and own:
                gain = (known[(kind, limit), paths] / fmean(own) - 1) / (len(paths) - 1)
                found.append(Sample(kind, "gain", max(LEAST_PAIR_GAIN, gain), link=self._links.named(limit)))
        return found

    def _alike(self, path: str) -> "_Alike | None":
        """The type of a path's relays and the link that limits it; None where nobody can tell."""
        kind = self.types.get(path)
        limit = self._links.limit(path, kind) if kind else None
        return (kind, limit) if kind and limit else None

    def _spawns(self) -> Iterable[Sample]:
        for node in self._started:
            # A pre-test delays joining, and the estimate counts it apart.
            serves_at = node.joined_at if node.measured_inter_region is None else node.ready_at
            if serves_at is not None and node.is_ours:
                waited = serves_at - node.requested_at
                yield Sample(node.instance_type, "spawn", waited, link=link_at(self._transfer, node))

    def _pre_tests(self) -> Iterable[Sample]:
        for path in sorted(self._whole & self.types.keys()):
            if len(self._links.of(path)) > 1:
                continue
            kind = self.types[path]
            # Both relays carry the result of their pair.
            for between, inside in {(n.measured_inter_region, n.measured_intra_region) for n in self._by_path[path]}:
                if between:
                    yield Sample(kind, "interRegion", between)
                # No machine sends less inside than outside: then it was the source that had no more to give.
                if between and inside and inside >= between:
                    yield Sample(kind, "intraRegion", inside)

    def _hops(self) -> Iterable[Sample]:
        """What the pre-test found of each link of a route through third regions."""
        for path in sorted(self._whole & self._by_path.keys()):
            links = self._links.of(path)
            relays = sorted((n for n in self._by_path[path] if not n.generation), key=lambda node: node.stage)
            if len(links) == 1 or len(relays) != len(links) + 1:
                continue
            for link, relay, following in zip(links, relays, relays[1:], strict=False):
                if relay.measured_hop and relay.instance_type == following.instance_type:
                    yield Sample(relay.instance_type, "interRegion", relay.measured_hop, link=link)
            first = relays[0]
            inside = first.measured_intra_region
            if first.measured_hop and inside and inside >= first.measured_hop:
                yield Sample(first.instance_type, "intraRegion", inside, link=links[0])


def _tested_alone(node: Node, beside: Sequence[tuple[float, float]]) -> Node:
    """The node without its pre-test, where another transfer used the ends between its readiness and its joining."""
    since, until = node.ready_at or node.requested_at, node.joined_at or node.ended_at or inf
    if not any(begun < until and since < ended for begun, ended in beside):
        return node
    return node.model_copy(update={"measured_inter_region": None, "measured_intra_region": None, "measured_hop": None})
