"""Launches of a transfer whose budget is used up."""

import pytest

from lambdas.core import transfer_life
from lambdas.core.errors import LaunchRefused
from lambdas.core.spending.meter import BudgetDecision
from lambdas.core.transfer_record import Estimated
from lambdas.operations.fleet.launch import launch_relays, launch_stage
from tests.lambdas.builders import WEST, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin, states

CAUSE = "$.objective.maxCostUsd: 5.0 dollars are nearly used up"


def serving(cloud: Cloud) -> Estimated:
    """The record as a function has read it before the budget was used up."""
    begin(cloud, transfer())
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    return record


def use_up(cloud: Cloud) -> None:
    budget = BudgetDecision(decision="direct", cause=CAUSE)
    assert cloud.transfers.change(transfer(), transfer_life.note(budget=budget))


def test_nothing_is_launched_once_the_budget_is_used_up() -> None:
    cloud = Cloud()
    record = serving(cloud)
    use_up(cloud)
    with pytest.raises(LaunchRefused, match="nearly used up"):
        launch_stage(cloud.world, record, 0, [1, 2], 0, ["t3.small"])
    with pytest.raises(LaunchRefused, match="nearly used up"):
        launch_relays(cloud.world, record, {0: [1], 1: [1]}, {0: ["t3.small"], 1: ["t3.small"]})
    assert [compute.launches for compute in cloud.compute.values()] == [[], []]


def test_budget_that_is_used_up_while_ec2_launches_leaves_no_relay() -> None:
    cloud = Cloud()
    record = serving(cloud)
    cloud.compute[WEST].on_launch = lambda: use_up(cloud)
    with pytest.raises(LaunchRefused, match="nearly used up"):
        launch_stage(cloud.world, record, 0, [1], 0, ["t3.small"])
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"LOST"}
