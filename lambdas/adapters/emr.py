"""Clusters of EMR in one region."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from lambdas.core.ends.clusters import ROLES, SERVING, Cluster, ClusterInstance

_FLEETS = "INSTANCE_FLEET"


class EmrClusters:
    """Clusters over DescribeCluster and ListInstances."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def find(self, cluster_id: str) -> Cluster | None:
        """See Clusters."""
        try:
            found = self._client.describe_cluster(ClusterId=cluster_id)["Cluster"]
        except ClientError as error:
            # Of a cluster that is not there, or is another account's, EMR says that its id is not valid.
            if error.response["Error"]["Code"] == "InvalidRequestException":
                return None
            raise
        state = found["Status"]["State"]
        if state not in SERVING:
            return Cluster(state)
        return Cluster(state, tuple(self._running(cluster_id, found.get("InstanceCollectionType") == _FLEETS)))

    def _running(self, cluster_id: str, in_fleets: bool) -> Iterator[ClusterInstance]:
        """Each role is asked for by itself: an instance is told with its group or fleet, and not with its role."""
        pages = self._client.get_paginator("list_instances")
        for role in ROLES:
            wanted = {"InstanceFleetType": role} if in_fleets else {"InstanceGroupTypes": [role]}
            for page in pages.paginate(ClusterId=cluster_id, InstanceStates=["RUNNING"], **wanted):
                for one in page["Instances"]:
                    group = one.get("InstanceFleetId") or one.get("InstanceGroupId") or role
                    yield ClusterInstance(one["Ec2InstanceId"], role, group)
