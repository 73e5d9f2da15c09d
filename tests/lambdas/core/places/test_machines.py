"""Machines say where they are."""

from lambdas.core.places.machines import TransitRegion
from lambdas.core.places.place import Place
from tests.lambdas.builders import node, transfer


def test_machines_regions_and_relays_say_as_much_as_is_known_of_their_place() -> None:
    source = transfer().at_source
    assert source.place == Place(source.region, source.vpc_id, source.availability_zone)
    assert TransitRegion(region="us-east-1", vpc_id="vpc-1").place == Place("us-east-1", "vpc-1")
    assert node("destination").place == Place("eu-west-1", zone="eu-west-1a")
    assert transfer().request.source.place == Place(source.region)
