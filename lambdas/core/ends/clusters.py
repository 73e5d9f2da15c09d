"""Which instances of a cluster of EMR work for an end in its HDFS.

Core instances have HDFS's data, task instances have none and are as near to it as any other; both have the cluster's
Hadoop configuration. Primary instances have the name nodes, and serve nobody. EMR says neither how much data an
instance has nor which ones of a group that shrinks it takes away next.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal

ClusterRole = Literal["CORE", "TASK"]
ROLES: tuple[ClusterRole, ...] = ("CORE", "TASK")
"""The first ones serve first."""
SERVING = ("RUNNING", "WAITING")
_COMING = ("STARTING", "BOOTSTRAPPING")


@dataclass(frozen=True)
class ClusterInstance:
    """An instance that EMR says is RUNNING; `group`: the id of its instance group or fleet."""

    instance_id: str
    role: ClusterRole
    group: str


@dataclass(frozen=True)
class Cluster:
    """A cluster of EMR in one of its states, and its instances while it serves."""

    state: str
    instances: tuple[ClusterInstance, ...] = ()


def problem(cluster_id: str, region: str, cluster: Cluster | None) -> str | None:
    """Why a cluster has no workers, and what would be right; None where it has some."""
    if cluster is None:
        return f"'{cluster_id}' is not in {region}; name a cluster of that region, or correct the region"
    if cluster.state in _COMING:
        return f"'{cluster_id}' is {cluster.state}; start the transfer once it is {' or '.join(SERVING)}"
    if cluster.state not in SERVING:
        return f"'{cluster_id}' is {cluster.state}; name a cluster that is {' or '.join(SERVING)}"
    if not cluster.instances:
        return (
            f"'{cluster_id}' has no core or task instance that is RUNNING; add one to it, or name instances that reach "
            "its HDFS as workers"
        )
    return None


def in_order(instances: Iterable[ClusterInstance], without: Collection[str] = ()) -> list[str]:
    """Ids of those that may serve, core instances first, of each role one of each group in turn.

    The same instances come in the same order: a transfer that is resumed finds its plan by them. `without`: those that
    the request names for something else.
    """
    found: list[str] = []
    for role in ROLES:
        groups: dict[str, list[str]] = {}
        for one in sorted(instances, key=lambda one: (one.group, one.instance_id)):
            if one.role == role and one.instance_id not in without:
                groups.setdefault(one.group, []).append(one.instance_id)
        found += [one for one in chain.from_iterable(zip_longest(*groups.values())) if one is not None]
    return found
