"""What is known of copies as a whole, and what it says of money."""

import json
from pathlib import Path

import pytest

from lambdas.core.copies.estimate import Planned, estimate
from lambdas.core.copies.summary import STATES_OF_ROUND, STATES_OF_UNIT, Copies, requests_usd
from lambdas.core.copies.units import Position, Round, requests_per_unit, units_of

MACHINE = Path(__file__).parents[4] / "statemachine/transfer.asl.json"


def summed(**proofs: int) -> Copies:
    position = Position(round=Round(number=3, units=0, done=True, width=5), counts={"new": 5, "listed": 9})
    counts = {f"proof {name}": count for name, count in proofs.items()}
    return Copies.listing(position, 7).with_sums({**counts, "copied": sum(proofs.values())}, {"request list": 2})


def test_a_round_and_a_unit_pass_as_many_states_as_are_paid() -> None:
    states = json.loads(MACHINE.read_text())["States"]
    item = states["Copy Round"]["ItemProcessor"]["States"]
    assert states["Copy Round"]["Next"] == "Is Everything Copied?"
    assert states["Is Everything Copied?"]["Default"] == "Copy Round"
    assert item["Is It a Unit?"]["Choices"][0]["Next"] == "Copy Unit"
    assert item["Copy Unit"]["End"]
    assert item["List Objects"]["End"]
    of_unit = ["Is It a Unit?", "Copy Unit"]
    of_round = ["Copy Round", "Is It a Unit?", "List Objects", "Is Everything Copied?"]
    assert (len(of_round), len(of_unit)) == (STATES_OF_ROUND, STATES_OF_UNIT)


@pytest.mark.parametrize(("objects", "transitions"), [(1_000, 16), (10**6, 424), (10**8, 4_660)])
def test_transitions_are_few(objects: int, transitions: int) -> None:
    """The last round lists nothing, and ends it."""
    left, rounds, units = objects, 0, 0
    while left > 0:
        rounds += 1
        units += min(units_of(rounds), -(-left // requests_per_unit(rounds)))
        left -= units_of(rounds) * requests_per_unit(rounds)
    assert STATES_OF_ROUND * (rounds + 1) + STATES_OF_UNIT * units == transitions


def test_what_is_verified_and_what_is_said_of_the_rest() -> None:
    assert summed(CRC64NVME=5).verified
    assert summed(CRC64NVME=5).in_words is None
    found = summed(CRC64NVME=3, SHA256=1, none=1)
    assert not found.verified
    assert found.in_words == (
        "1 proved by SHA256; 1 copied by S3, not verified: no checksum of the whole object at the source"
    )


def test_requests_cost_what_s3_asks() -> None:
    assert requests_usd({"copy": 1_000, "head": 1_000, "abort": 1_000}) == pytest.approx(0.0054)
    assert summed(CRC64NVME=5).transitions == 3 * STATES_OF_ROUND + 7 * STATES_OF_UNIT


def test_an_estimate_is_of_requests_and_traffic_and_a_range_of_time() -> None:
    million = estimate(Planned(10**6, 10**9, 10**6), "us-west-2", "us-west-2")
    assert million.usd == pytest.approx(5.4)
    assert 60 < million.least_seconds < 10 * 60
    assert million.least_seconds < million.most_seconds
    away = estimate(Planned(1, 10**12, 7_453), "us-west-2", "eu-west-1")
    assert away.usd == pytest.approx(7_453 * 5e-6 + 0.4e-6 + 20.0)
