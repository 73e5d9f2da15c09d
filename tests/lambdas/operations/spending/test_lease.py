"""The lease that a sender holds of a budget: when it is granted, renewed and cut by what is launched."""

from typing import Any

import pytest

from lambdas.core.fleet.membership import BudgetLease
from lambdas.core.fleet.relay_node import Node
from lambdas.operations.spending import metering
from tests.lambdas.builders import SHARED, node, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned
from tests.lambdas.operations.seats.test_end_daemons import Moving


def moving(**objective: Any) -> Cloud:
    """A transfer with a pair whose sender was started."""
    cloud = spawned(1, objective=objective)
    metering.grant(cloud.world, transfer(objective=objective), 1)
    return cloud


def lease(cloud: Cloud) -> BudgetLease | None:
    membership = cloud.agents.membership(SHARED)
    assert membership
    return membership.budget_lease


def renew(cloud: Cloud) -> None:
    record = cloud.transfers.get("first")
    assert record
    metering.renew_lease(cloud.world, record)


def test_a_sender_that_starts_gets_what_the_budget_bears_beyond_its_relays() -> None:
    granted = lease(moving(maxCostUsd=1.0))
    assert granted
    assert (granted.start, granted.sent_bytes) == (1, 0)
    assert 0.9 < granted.usd < 1.0
    assert granted.usd_per_gb > 0
    assert granted.usd_per_hour > 0


def test_without_a_budget_there_is_no_lease() -> None:
    cloud = moving()
    renew(cloud)
    assert lease(cloud) is None


def test_a_sender_that_began_without_a_lease_gets_none_on_the_way() -> None:
    """It would refuse a membership with a field that it does not know."""
    cloud = spawned(1, objective={"maxCostUsd": 1.0})
    renew(cloud)
    assert lease(cloud) is None


def test_time_that_passes_is_paid_from_the_next_lease() -> None:
    cloud = moving(maxCostUsd=1.0)
    before = lease(cloud)
    cloud.clock.time += 600
    renew(cloud)
    after = lease(cloud)
    assert before
    assert after
    assert after.at == before.at + 600
    assert after.usd < before.usd


def test_a_late_writer_does_not_take_back_a_later_lease() -> None:
    cloud = moving(maxCostUsd=1.0)
    granted = lease(cloud)
    cloud.clock.time -= 60
    renew(cloud)
    assert lease(cloud) == granted


def test_a_reading_from_before_a_launch_does_not_take_the_place_of_the_one_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stages launch side by side, and looks come meanwhile: who read the relays first may write last."""
    cloud = moving(maxCostUsd=1.0)
    read = cloud.nodes.of
    after: list[BudgetLease | None] = []

    def before_a_launch(transfer_id: str) -> list[Node]:
        nodes = read(transfer_id)
        monkeypatch.setattr(cloud.nodes, "of", read)
        cloud.clock.time += 1
        for slot in range(2, 9):
            cloud.nodes.put(node(0, slot, requested_at=cloud.clock.time))
        renew(cloud)
        after.append(lease(cloud))
        cloud.clock.time += 1
        return nodes

    monkeypatch.setattr(cloud.nodes, "of", before_a_launch)
    renew(cloud)
    assert after == [lease(cloud)]


def test_of_two_leases_of_one_moment_the_smaller_one_counts() -> None:
    granted = lease(moving(maxCostUsd=1.0))
    assert granted
    less = granted.model_copy(update={"usd": granted.usd / 2})
    assert granted.is_older_than(less)
    assert not less.is_older_than(granted)
    assert not granted.is_older_than(granted)
    assert not granted.is_older_than(None)
    assert granted.is_older_than(less.model_copy(update={"at": granted.at + 1, "usd": 1.0}))


def test_a_sender_that_is_started_again_gets_its_own_lease_before_it_begins() -> None:
    ends = Moving(objective={"maxCostUsd": 1.0})
    ends.minute()
    del ends.alive["s0"]
    while "restarted" not in ends.minute():
        pass
    started = ends.sent("s0")[-1]
    granted = lease(ends.cloud)
    assert granted
    assert (granted.start, granted.sent_bytes) == (started, 0)
