"""Transfers with HDFS at an end, whose seats work on workers of its cluster."""

from collections.abc import Iterable
from typing import Any

from lambdas.core.ends.clusters import ClusterInstance
from lambdas.core.request.request import TransferRequest
from lambdas.core.survey.whereabouts import DirectoryWay, FileSystem, Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import seats_of
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST
from tests.lambdas.many import machine_ids, many

# Two clusters, as the configurations of their workers name them, percent-encoded.
NEAR, FAR = "hdfs%3A//warehouse", "hdfs%3A//ip-10-11-0-9.internal%3A8020"


def hdfs_source(workers: int = 1, **keys: Any) -> dict[str, Any]:
    """Of the cluster in the West, as a request names it."""
    ids = machine_ids(SOURCE_ID, workers)
    return {"kind": "hdfs", "workers": ids, "region": WEST, "user": "etl", "paths": ["/warehouse/sales"], **keys}


def hdfs_destination(workers: int = 1, **keys: Any) -> dict[str, Any]:
    """Of the cluster in Ireland."""
    ids = machine_ids(DESTINATION_ID, workers)
    return {"kind": "hdfs", "workers": ids, "region": IRELAND, "user": "etl", "path": "/backup", **keys}


def between_clusters(
    senders: int = 1,
    receivers: int = 1,
    transfer_id: str = "first",
    source: dict[str, Any] | None = None,
    destination: dict[str, Any] | None = None,
    **changes: Any,
) -> AcceptedTransfer:
    """With so many workers at each end; `source` and `destination`: keys of these ends."""
    asked = {
        "name": transfer_id,
        "source": hdfs_source(senders, **(source or {})),
        "destination": hdfs_destination(receivers, **(destination or {})),
        **changes,
    }
    accepted = many(senders, receivers, transfer_id)
    return accepted.model_copy(update={"request": TransferRequest.from_document(asked)})


def from_hdfs_to_bucket(workers: int = 1, **changes: Any) -> AcceptedTransfer:
    """Into a bucket in Ireland, by the workers in the West."""
    return _beside_bucket(between_clusters(workers, 1, **changes), "destination", bucket("out/"))


def from_bucket_to_hdfs(workers: int = 1, **changes: Any) -> AcceptedTransfer:
    """From a bucket in Ireland, by the workers there."""
    return _beside_bucket(between_clusters(1, workers, **changes), "source", bucket("in/"))


def _beside_bucket(accepted: AcceptedTransfer, side: str, there: dict[str, Any]) -> AcceptedTransfer:
    asked = TransferRequest.from_document({**accepted.request.to_document(), side: there})
    seats = {
        "source": {"senders": seats_of("sender", [seat.machine for seat in accepted.receivers])},
        "destination": {"receivers": seats_of("receiver", [seat.machine for seat in accepted.senders])},
    }[side]
    return accepted.model_copy(update={"request": asked, **seats})


def way_in(cluster: str | None, inodes: str, path: str, *, missing: str = "") -> DirectoryWay:
    """The way to a path of HDFS, by the inodes of its directories; `missing`: names below it of no directory."""
    names = [name for name in f"{path}/{missing}".split("/") if name]
    numbers = inodes.split()
    system = FileSystem(kind="hdfs", mount_point="/", id=cluster, location=path)
    return DirectoryWay(directories=numbers, names=names, births=[0] * len(numbers), file_system=system)


def place_in(cluster: str | None, inodes: str, path: str, *, missing: str = "") -> Whereabouts:
    """The same, as a survey of a source tells it."""
    whole = f"{path.rstrip('/')}/{missing}" if missing else path
    return Whereabouts(path=whole, ways=[way_in(cluster, inodes, path, missing=missing)])


CLUSTER, OTHER_CLUSTER = "j-3KVTXXXXXX7UG", "j-1ABCDEFGHIJKL"


def of_cluster(end: dict[str, Any], cluster_id: str = CLUSTER) -> dict[str, Any]:
    """The end, with the cluster in its workers' place."""
    return {**{key: value for key, value in end.items() if key != "workers"}, "clusterId": cluster_id}


def instances(core: Iterable[str], task: Iterable[str] = (), group: str = "ig-TASK") -> tuple[ClusterInstance, ...]:
    """Instances of a cluster, in one group of each role."""
    return (
        *(ClusterInstance(one, "CORE", "ig-CORE") for one in core),
        *(ClusterInstance(one, "TASK", group) for one in task),
    )
