"""Borders that relays cannot cross by private addresses."""

import pytest

from lambdas.core.fleet import joined
from lambdas.core.fleet.launch_plan import Subnet, Way

ENDS = ("us-west-2", "eu-west-1")
BLOCKS = {
    "us-west-2": "10.1.0.0/24",
    "eu-west-1": "10.2.0.0/24",
    "eu-central-1": "10.3.0.0/24",
    "us-east-1": "10.4.0.0/24",
}


def place(region: str, *others: str, zone: str = "a") -> Subnet:
    """A subnet with a route through a peering to the VPCs of `others`."""
    ways = [Way(BLOCKS[other].replace("0/24", "0/16"), joins=True) for other in others]
    return Subnet(f"subnet-{zone}", zone, block=BLOCKS[region], ways=(Way("0.0.0.0/0", joins=False), *ways))


def test_border_needs_a_route_each_way() -> None:
    there = {"us-west-2": [place("us-west-2", "eu-central-1")], "eu-central-1": [place("eu-central-1")]}
    assert joined.apart(there, ENDS) == [("us-west-2", "eu-central-1")]
    there["eu-central-1"] = [place("eu-central-1", "us-west-2")]
    assert joined.apart(there, ENDS) == []


def test_every_subnet_that_a_relay_may_be_in_needs_the_route() -> None:
    whole = place("us-west-2", "eu-central-1")
    there = {"us-west-2": [whole], "eu-central-1": [place("eu-central-1", "us-west-2")]}
    there["us-west-2"].append(place("us-west-2", zone="b"))
    assert joined.apart(there, ENDS) == [("us-west-2", "eu-central-1")]


def test_ends_prove_their_own_border() -> None:
    assert joined.apart({"us-west-2": [place("us-west-2")], "eu-west-1": [place("eu-west-1")]}, ENDS) == []


@pytest.mark.parametrize(
    ("ways", "reaches"),
    [
        ([], False),
        ([Way("10.0.0.0/8", joins=True)], True),
        ([Way("10.0.0.0/8", joins=True), Way("10.3.0.0/16", joins=False)], False),
        ([Way("10.0.0.0/8", joins=False), Way("10.3.0.0/16", joins=True)], True),
        ([Way("10.3.0.0/25", joins=True)], False),
    ],
)
def test_narrowest_route_to_all_of_a_subnet_decides(ways: list[Way], reaches: bool) -> None:
    here, there = Subnet("here", "a", ways=tuple(ways)), Subnet("there", "a", block=BLOCKS["eu-central-1"])
    assert here.reaches(there) is reaches


def test_region_is_between_the_ends_over_another_one_too() -> None:
    third = ["eu-central-1", "us-east-1"]
    lacking = [("us-west-2", "eu-central-1"), ("us-east-1", "eu-west-1")]
    assert joined.is_between("eu-central-1", ENDS, third, lacking)
    assert not joined.is_between("eu-central-1", ENDS, ["eu-central-1"], lacking)
    assert not joined.is_between("eu-central-1", ENDS, third, [*lacking, ("eu-central-1", "us-east-1")])


def test_words_name_the_regions_and_are_short() -> None:
    assert joined.in_words([("a", "b")], "peering") == "no peering with routes both ways joins a with b"
    many = joined.in_words([("a", str(n)) for n in range(30)], "transit-gateway")
    assert many.startswith("no transit gateway with routes both ways joins a with 0, a with 1")
    assert many.endswith("and 26 other pairs of regions")
