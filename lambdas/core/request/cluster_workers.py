"""How many workers of a cluster serve an end, and which instances are none of them since the request names them."""

from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.request.machine_rules import MOST_TOGETHER
from lambdas.core.request.request import TransferRequest


def with_cluster(end: SourceEnd | DestinationEnd) -> HdfsEnd | None:
    """The end, where its workers are a cluster's and nobody has found them yet."""
    return end if isinstance(end, HdfsEnd) and end.cluster_id and end.workers is None else None


def named_elsewhere(request: TransferRequest) -> set[str]:
    """Machines that the request names, none of which is a worker of a cluster besides."""
    ends = (request.source, request.destination)
    return {instance_id for end in ends for instance_id in end.machine_ids} | set(request.relays.existing)


def shares(request: TransferRequest, able: tuple[int, int]) -> tuple[int, int]:
    """How many machines serve at source and destination, of as many as there are; both together are few.

    `able`: of a cluster those that could serve, of any other end those that it names. Beside a bucket each machine is
    named twice, and links are measured by one machine of each end.
    """
    source, destination = able
    if request.has_bucket:
        most = MOST_TOGETHER // 2
        return min(source, most), min(destination, most)
    if request.profile == "measure":
        return min(source, 1), min(destination, 1)
    if with_cluster(request.source) is None:
        return source, min(destination, MOST_TOGETHER - source)
    if with_cluster(request.destination) is None:
        return min(source, MOST_TOGETHER - destination), destination
    mine = min(source, MOST_TOGETHER - min(destination, MOST_TOGETHER // 2))
    return mine, min(destination, MOST_TOGETHER - mine)
