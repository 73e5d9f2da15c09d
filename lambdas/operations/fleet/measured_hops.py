"""Who is let in for relays that are only measured."""

from collections.abc import Sequence

from lambdas.core.fleet import stations
from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Admission, route_at
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations.fleet.relay_start import hops_of_route


def measured_hops(record: Estimated, node: Node, relays: Sequence[Node]) -> list[Admission]:
    """Every link between the relays of all regions; else those of a pair, whose last relay the source reaches too."""
    if not record.estimate.is_by_pairs:
        return stations.admissions(record.transfer, record.paths, node)
    wanted, route = hops_of_route(record, node, relays), route_at(record.transfer, node.stage)
    here = route.stage_of(node)
    direct = [Admission(here, "relay", record.paths.source_address, RELAY_PORT)] if here is route.stages[-1] else []
    return [*wanted, *direct]
