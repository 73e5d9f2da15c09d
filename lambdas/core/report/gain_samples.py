"""What a finished transfer tells of the pool's gains: at which rate its data went, and by which relays."""

from collections.abc import Iterable

from lambdas.core.estimate.profile import Metric
from lambdas.core.estimate.whole_time import TRANSFERS
from lambdas.core.fleet.relay_node import Node
from lambdas.core.learning.sample import Sample
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.report.stage_samples import LEAST_ESTIMATE_SECONDS


def gain_samples(record: TransferRecord, sent_bytes: int, seconds: float, nodes: Iterable[Node]) -> list[Sample]:
    """One sample of the kind that the transfer was; none where relays were mixed, or where people held it back.

    Of `seconds` of data below ten the beginning is most.
    """
    asked = record.transfer.request.bandwidth_limit_mbps is not None
    held = asked or record.bandwidth is not None or record.budget is not None or record.pause is not None
    if held or record.shared or record.status != "SUCCEEDED" or seconds < LEAST_ESTIMATE_SECONDS or not sent_bytes:
        return []
    kinds = {node.provider for node in nodes if node.joined_at is not None}
    metrics: dict[frozenset[str], Metric] = {
        frozenset(): "rateDirect",
        frozenset({"launched"}): "rateLaunched",
        frozenset({"pool"}): "ratePooled",
    }
    metric = metrics.get(frozenset(kinds))
    return [Sample(TRANSFERS, metric, sent_bytes / 1e6 / seconds)] if metric else []
