"""A transfer with its relays, at the stage that a test needs."""

from typing import Any

from lambdas.core.fleet.relay_node import Node
from lambdas.core.transfer import Membership, TransferPath
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from tests.lambdas.builders import SHARED, estimate, paths, plan, transfer
from tests.lambdas.cloud import Cloud

ROUTE_KEY = "k" * 43


def spawned(pairs: int = 2, *, pre_test: bool = False, key: bool = True, **changes: Any) -> Cloud:
    cloud = Cloud()
    accepted = transfer(relays={"instanceTypes": ["t3.small", "t3.medium"]}, **changes)
    cloud.transfers.create(accepted)
    wanted = estimate(pairs, pre_test=pre_test)
    cloud.transfers.note(transfer(), paths=paths().to_document(), estimate=wanted.to_document())
    cloud.transfers.note(transfer(), plan=plan(size=10**9).to_document())
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    if key:
        cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted, paths=paths()), cloud.world)
    return cloud


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
