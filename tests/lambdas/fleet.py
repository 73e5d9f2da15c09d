"""A transfer with its relays, at the stage that a test needs."""

from typing import Any

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from tests.lambdas.builders import SHARED, estimate, paths, plan, transfer
from tests.lambdas.cloud import Cloud

ROUTE_KEY = "k" * 43


def spawned(pairs: int = 2, *, pre_test: bool = False, key: bool = True, **changes: Any) -> Cloud:
    cloud = Cloud()
    accepted = transfer(relays={"instanceTypes": ["t3.small", "t3.medium"]}, **changes)
    wanted = estimate(pairs, pre_test=pre_test)
    begin(cloud, accepted, wanted)
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    if key:
        cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted), cloud.world)
    return cloud


def begin(cloud: Cloud, accepted: AcceptedTransfer, chosen: Estimate | None = None) -> None:
    """A transfer whose ends may be started, and relays launched."""
    cloud.transfers.create(accepted)
    known = transfer_life.note(paths=paths(), plan=plan(size=10**9), estimate=chosen or estimate(1))
    assert cloud.transfers.change(accepted, known)


def attempt(cloud: Cloud, of: AcceptedTransfer | None = None) -> int:
    """The epoch in which ends may be started next."""
    record = cloud.transfers.change(of or transfer(), transfer_life.COUNT_ATTEMPT)
    assert record is not None
    return record.attempt


def amend(cloud: Cloud, node: Node, **fields: Any) -> None:
    """Give a node fields that it would have from earlier changes of its life."""
    nodes = {known.node_id: known for known in cloud.nodes.of(node.transfer_id)}
    nodes[node.node_id] = nodes[node.node_id].model_copy(update=fields)
    cloud.nodes.forget(node.transfer_id)
    for known in nodes.values():
        cloud.nodes.put(known)


def states(cloud: Cloud) -> dict[str, str]:
    return {node.node_id: node.state for node in cloud.nodes.of("first")}


def path_ids(cloud: Cloud) -> list[str]:
    membership = cloud.agents.membership(SHARED)
    return [path.path_id for path in membership.paths] if membership else []


def dies(*_: object, **_named: object) -> None:
    raise RuntimeError("the function ends here")
