"""The clusters of EMR that a request names: which of their instances would work for it."""

from functools import partial
from typing import Any

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, failed, looked, ok
from cli.doctor.machine import Side, about
from lambdas.adapters.emr import EmrClusters
from lambdas.core.ends import clusters
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.request.cluster_workers import named_elsewhere, shares, with_cluster
from lambdas.core.request.request import TransferRequest
from lambdas.core.words import many

_REMEDY = "change clusterId, or the cluster; docs/use.md says what a cluster needs"


class Clusters:
    """Those of a request; `request` names their workers once they were looked at."""

    def __init__(self, aws: Aws, request: TransferRequest) -> None:
        self._aws = aws
        self._able: dict[Side, list[str]] = {}
        self.request = request

    def looked_at(self) -> Findings:
        """Look for the first of their instances, as many as would serve if all of them can."""
        source, destination = with_cluster(self.request.source), with_cluster(self.request.destination)
        named: dict[Side, HdfsEnd] = {"source": source} if source else {}
        named |= {"destination": destination} if destination else {}
        for side, end in named.items():
            place = about(side, str(end.cluster_id), end.region)
            yield from looked("machine", place, partial(self._find, side, end, place))
        there = (self._machines("source"), self._machines("destination"))
        counts: dict[Side, int] = dict(zip(("source", "destination"), shares(self.request, there), strict=True))
        changes: dict[str, Any] = {
            side: named[side].model_copy(update={"workers": found[: counts[side]]})
            for side, found in self._able.items()
        }
        self.request = self.request.model_copy(update=changes)

    def _machines(self, side: Side) -> int:
        end = self.request.source if side == "source" else self.request.destination
        return len(self._able.get(side, end.machine_ids))

    def _find(self, side: Side, end: HdfsEnd, place: str) -> Findings:
        cluster = EmrClusters(self._aws.client("emr", end.region)).find(str(end.cluster_id))
        yield self._judged(side, end, place, cluster)

    def _judged(self, side: Side, end: HdfsEnd, place: str, cluster: clusters.Cluster | None) -> Finding:
        why = clusters.problem(str(end.cluster_id), end.region, cluster)
        if why is not None or cluster is None:
            return failed("machine", place, str(why), _REMEDY)
        found = clusters.in_order(cluster.instances, named_elsewhere(self.request))
        if not found:
            return failed("machine", place, "the request names all of its instances for something else", _REMEDY)
        self._able[side] = found
        return ok("machine", place, f"{cluster.state}, {many(len(found), 'instance')} that may serve")
