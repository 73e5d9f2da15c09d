"""Who gets the pool's leases when there are fewer than are asked for."""

from typing import Any

import pytest

from lambdas.core.pool.month_account import MonthAccount, month_of
from lambdas.core.pool.place_in_queue import LONGEST_SECONDS
from lambdas.core.pool.queue import Use
from lambdas.core.pool.tenant import TenantTerms
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_in_turn, spawn_relays
from lambdas.operations.fleet.providers import pool
from lambdas.operations.fleet.providers.turns import TurnLaterError
from lambdas.operations.pool import queueing
from tests.lambdas import pools
from tests.lambdas.builders import WEST, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin


def cloud_with(leases_per_node: int = 1, **settings: Any) -> Cloud:
    cloud = Cloud(pool_regions=pools.regions(leasesPerNode=leases_per_node), **settings)
    pools.stand(cloud)
    return cloud


def asking(cloud: Cloud, name: str, tenant: str | None = None, **relays: Any) -> AcceptedTransfer:
    arn = f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{name}"
    accepted = transfer(name, arn, relays={"instanceTypes": ["t3.small"], "pool": "only", **relays})
    accepted = accepted.model_copy(update={"tenant": tenant})
    cloud.agents.route_keys[accepted.partition] = ROUTE_KEY
    begin(cloud, accepted, estimate(1))
    return accepted


def spawn(cloud: Cloud, accepted: AcceptedTransfer) -> dict[str, Any]:
    return spawn_relays(SpawnInput(transfer=accepted, estimate=estimate(1)), cloud.world)


def waits(cloud: Cloud, accepted: AcceptedTransfer) -> float:
    """Seconds until it asks again."""
    with pytest.raises(TurnLaterError) as later:
        spawn(cloud, accepted)
    return max(later.value.queue.due.values()) - cloud.clock.now()


def record(cloud: Cloud, name: str) -> TransferRecord:
    found = cloud.transfers.get(name)
    assert found is not None
    return found


def fill(cloud: Cloud) -> AcceptedTransfer:
    """Somebody has the only lease at each side."""
    first = asking(cloud, "first")
    assert spawn(cloud, first)["spawned"] == 1
    return first


def free(cloud: Cloud, accepted: AcceptedTransfer) -> None:
    pool.take_back(cloud.world, cloud.nodes.of(accepted.transfer_id))
    cloud.pool.leases.clear()


def test_whoever_finds_no_lease_waits_and_sees_where_it_stands() -> None:
    cloud = cloud_with()
    fill(cloud)
    second, third = asking(cloud, "second"), asking(cloud, "third")
    assert waits(cloud, second) == 5.0
    cloud.clock.sleep(1)
    waits(cloud, third)
    turn = record(cloud, "third").pool_turn
    assert turn is not None
    assert (turn.position, turn.waiting) == (2, 2)
    # The first is expected to end after its estimate's 25 s, or after two minutes, which is more; the second then.
    assert turn.starts_at > cloud.clock.now() + 100
    assert turn.words.startswith("place 2 of 2 in the pool's queue, its turn in about ")


def test_in_the_queue_the_first_has_the_lease_that_comes_free() -> None:
    cloud = cloud_with()
    first = fill(cloud)
    second, third = asking(cloud, "second"), asking(cloud, "third")
    waits(cloud, second)
    cloud.clock.sleep(1)
    waits(cloud, third)
    free(cloud, first)
    waits(cloud, third)
    assert spawn(cloud, second)["spawned"] == 1
    assert {node.provider for node in cloud.nodes.of("second")} == {"pool"}


def test_whoever_has_waited_for_half_a_day_goes_on_without_leases() -> None:
    cloud = cloud_with()
    fill(cloud)
    second, begun, looks = asking(cloud, "second"), cloud.clock.now(), 0
    while cloud.clock.now() < begun + LONGEST_SECONDS:
        cloud.clock.sleep(waits(cloud, second))
        looks += 1
    assert spawn(cloud, second)["spawned"] == 0
    assert 140 < looks < 160


def test_a_tenant_that_has_used_less_by_its_weight_comes_first() -> None:
    cloud = cloud_with(tenants={"ann": TenantTerms(weight=1.0), "bob": TenantTerms(weight=4.0)})
    first = fill(cloud)
    now = cloud.clock.now()
    uses = {"ann": Use(sent=10.0**9, at=now), "bob": Use(sent=2.0 * 10**9, at=now)}
    month = month_of(now)
    cloud.pool_accounts.months[WEST, month] = MonthAccount(region=WEST, month=month, until=now, uses=uses)
    ann, bob = asking(cloud, "ann-x", "ann"), asking(cloud, "bob-x", "bob")
    waits(cloud, ann)
    waits(cloud, bob)
    free(cloud, first)
    waits(cloud, ann)
    assert spawn(cloud, bob)["spawned"] == 1


def test_what_the_queue_waits_for_is_not_given_to_who_only_prefers_the_pool() -> None:
    cloud = cloud_with()
    first = fill(cloud)
    waits(cloud, asking(cloud, "second"))
    free(cloud, first)
    newcomer = asking(cloud, "third", pool="prefer")
    assert pool.room(cloud.world, newcomer, [0, 1]) == {0: 0, 1: 0}
    assert spawn(cloud, newcomer)["spawned"] == 1
    assert {node.provider for node in cloud.nodes.of("third")} == {"launched"}


def test_whoever_asks_no_more_blocks_nobody() -> None:
    cloud = cloud_with()
    first = fill(cloud)
    waits(cloud, asking(cloud, "second"))
    third = asking(cloud, "third")
    waits(cloud, third)
    free(cloud, first)
    # The second died: its place ends two minutes after the look that never came.
    cloud.clock.sleep(126)
    assert spawn(cloud, third)["spawned"] == 1
    queueing.forget_ended(cloud.world)
    assert set(cloud.pool_accounts.places) == {"third"}


def test_a_transfer_whose_data_has_arrived_leaves_the_queue() -> None:
    cloud = cloud_with()
    fill(cloud)
    second = asking(cloud, "second")
    waits(cloud, second)
    cloud.transfers.change(second, transfer_life.FENCE)
    assert spawn(cloud, second)["spawned"] == 0


def test_the_execution_waits_outside_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = cloud_with()
    fill(cloud)
    event = SpawnInput(transfer=asking(cloud, "second"), estimate=estimate(1))
    monkeypatch.setattr("lambdas.handlers.states.spawn_relays._once", spawn_relays)
    assert spawn_in_turn(event, cloud.world)["waitSeconds"] == 5
