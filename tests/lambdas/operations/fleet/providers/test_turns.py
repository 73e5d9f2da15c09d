"""Many transfers launch at once: EC2 refuses none, and the last one waits no longer than EC2's rate demands."""

import heapq
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet.providers import turns
from lambdas.operations.fleet.providers.turns import TurnLaterError
from local.config import Rate
from local.patches.faults.rates import Buckets
from tests.lambdas.builders import ARN, IRELAND, WEST, estimate, transfer
from tests.lambdas.clock import FakeClock
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin

TRANSFERS = 200
WITHIN_SECONDS = 2.0
# Of RunInstances, as AWS documents it for each region of an account.
BURST, PER_SECOND = 5, 2.0


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    """When RunInstances was called in each region, by transfers that start within two seconds."""
    # Two stages wait at the same time, which one clock in memory cannot: so all wait outside of the function.
    monkeypatch.setattr(turns, "SHORT_SECONDS", 0.0)
    cloud, clock = Cloud(), FakeClock()
    made: dict[str, list[float]] = {WEST: [], IRELAND: []}
    for region, compute in cloud.compute.items():
        compute.quota = 10 * TRANSFERS
        compute.on_launch = lambda region=region: made[region].append(clock.now())  # type: ignore[misc]
    order, visits, launched = count(), Counter[str](), Counter[int]()
    waiting: list[tuple[float, int, SpawnInput]] = []
    for number in range(TRANSFERS):
        accepted = transfer(f"t{number}", f"{ARN}-{number}")
        begin(cloud, accepted)
        at = 1000.0 + WITHIN_SECONDS * number / TRANSFERS
        heapq.heappush(waiting, (at, next(order), SpawnInput(transfer=accepted, estimate=estimate(1))))
    while waiting:
        clock.time, _, event = heapq.heappop(waiting)
        visits[event.transfer.transfer_id] += 1
        try:
            launched[spawn_relays(event, replace(cloud.world, clock=clock))["spawned"]] += 1
        except TurnLaterError as later:
            again = event.model_copy(update={"queue": later.queue})
            heapq.heappush(waiting, (max(later.queue.due.values()), next(order), again))
    assert launched == {1: TRANSFERS}
    assert max(visits.values()) == 2  # nobody asks in vain
    return made


def test_all_get_their_relays_and_ec2_refuses_none(calls: dict[str, list[float]]) -> None:
    for region, times in calls.items():
        rate = Rate(burst=BURST, per_second=PER_SECOND)
        buckets = Buckets({"ec2:RunInstances": rate}, now=iter(sorted(times)).__next__)
        assert all(buckets.take("ec2:RunInstances", region) for _ in times)


def test_the_last_one_waits_no_longer_than_the_rate_of_ec2_demands(calls: dict[str, list[float]]) -> None:
    for times in calls.values():
        assert len(times) == TRANSFERS
        assert max(times) - min(times) <= 1.1 * (TRANSFERS - BURST) / PER_SECOND


def test_turn_that_was_waited_for_is_not_taken_again() -> None:
    cloud = Cloud()
    begin(cloud, transfer())
    for _ in range(50):
        for region in (WEST, IRELAND):
            cloud.turns.take(region, cloud.clock.now())
    event = SpawnInput(transfer=transfer(), estimate=estimate(1), queue=LaunchQueue())
    with pytest.raises(TurnLaterError) as later:
        spawn_relays(event, cloud.world)
    mine = later.value.queue.due
    assert mine.keys() == {"0", "1"}
    cloud.clock.time = max(mine.values())
    assert spawn_relays(event.model_copy(update={"queue": later.value.queue}), cloud.world)["spawned"] == 1
