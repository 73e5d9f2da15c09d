"""The local cloud's EC2 holds peerings of VPCs and the routes through them, as those who plan routes read them."""

from local.cloud import LocalCloud
from tests.lambdas.peered import Peered


def test_regions_that_are_peered_and_routed_both_ways_are_joined(cloud: LocalCloud) -> None:
    network = Peered(lambda region: cloud.client("ec2", region))
    assert network.apart() == [("us-west-2", "eu-central-1"), ("eu-west-1", "eu-central-1")]
    for end in ("us-west-2", "eu-west-1"):
        peering = network.peer(end, "eu-central-1")
        network.route(end, "eu-central-1", peering)
        network.route("eu-central-1", end, peering)
    assert network.apart() == []
