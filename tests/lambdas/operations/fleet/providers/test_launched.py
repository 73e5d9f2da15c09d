"""Launches of a transfer whose budget is used up, or does not bear the second choice."""

import pytest

from lambdas.core.errors import LaunchRefused, NoCapacity
from lambdas.core.estimate.budget import needed
from lambdas.core.fleet.reconcile import Lease
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.spending.meter import BudgetDecision
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.fleet import hand
from lambdas.operations.fleet.growth import launch_routes
from lambdas.operations.fleet.providers.launched import lease
from tests.lambdas.builders import IRELAND, WEST, estimate, profile, progress, transfer
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


def test_relays_carry_label_and_tags_of_the_request() -> None:
    cloud = Cloud()
    begin(cloud, transfer(label="Moves of May", tags={"team": "storage"}))
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    lease(cloud.world, record, Lease("launched", 0, (1,), 0), ["t3.small"])
    (launched,) = cloud.compute[WEST].launches
    assert launched.tags == {"team": "storage", "cpt:label": "Moves of May"}


def test_nothing_is_launched_once_the_budget_is_used_up() -> None:
    cloud = Cloud()
    record = serving(cloud)
    use_up(cloud)
    with pytest.raises(LaunchRefused, match="nearly used up"):
        lease(
            cloud.world,
            record,
            Lease(
                "launched",
                0,
                (
                    1,
                    2,
                ),
                0,
            ),
            ["t3.small"],
        )
    with pytest.raises(LaunchRefused, match="nearly used up"):
        hand.lease(cloud.world, record, [Lease("launched", stage, (1,)) for stage in (0, 1)])
    assert [compute.launches for compute in cloud.compute.values()] == [[], []]


def test_budget_that_is_used_up_while_ec2_launches_leaves_no_relay() -> None:
    cloud = Cloud()
    record = serving(cloud)
    cloud.compute[WEST].on_launch = lambda: use_up(cloud)
    with pytest.raises(LaunchRefused, match="nearly used up"):
        lease(cloud.world, record, Lease("launched", 0, (1,), 0), ["t3.small"])
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"LOST"}


DEAR = "c6in.8xlarge"


def allowing(spare: float) -> tuple[Cloud, Estimated]:
    """A transfer of 20 GB with two pairs: of the first type there is no capacity, and the second one is dear.

    `spare`: dollars that its budget bears beside the row.
    """
    cloud = Cloud()
    asked = {"pairs": 2, "instanceTypes": ["t3.small", DEAR]}
    for kind in ("m5.large", "t3.small", DEAR):
        cloud.profiles.profiles[kind, f"{WEST}>{IRELAND}"] = profile(20, 160, 5)
    found = estimate_for(transfer(relays=asked), 20 * 10**9, cloud.world)
    accepted = transfer(relays=asked, objective={"maxCostUsd": needed(found.chosen, found.figures) + spare})
    begin(cloud, accepted, found)
    for compute in cloud.compute.values():
        compute.refusals = {"t3.small": "InsufficientInstanceCapacity"}
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    return cloud, record


def test_dearer_type_is_not_launched_where_the_budget_does_not_bear_it() -> None:
    cloud, record = allowing(0.3)
    assert record.estimate.instance_type == "t3.small"
    with pytest.raises(NoCapacity, match=rf"maxCostUsd does not bear more relays in us-west-2 as {DEAR}"):
        launch_routes(cloud.world, record, record.estimate, 2)
    assert cloud.alive() == []


def test_dearer_type_is_launched_where_the_budget_bears_it_as_many_as_it_bears() -> None:
    cloud, record = allowing(10.0)
    launched = launch_routes(cloud.world, record, record.estimate, 2)
    assert [one.instance_type for one in launched.nodes] == [DEAR] * 4
    cloud, record = allowing(0.5)
    launched = launch_routes(cloud.world, record, record.estimate, 2)
    assert [one.instance_type for one in launched.nodes] == [DEAR] * 2
    assert f"maxCostUsd does not bear more relays in {WEST} as {DEAR}" in " ".join(launched.notes)


def test_late_launch_of_a_dearer_type_is_held_against_what_has_been_spent() -> None:
    """More was sent again than was estimated: what the row left free has gone."""
    cloud, record = allowing(10.0)
    cloud.agents.progresses[record.transfer.partition, "s0"] = progress(sent=530 * 10**9)
    with pytest.raises(NoCapacity, match="does not bear more relays"):
        lease(cloud.world, record, Lease("launched", 0, (1,), 1), [DEAR])


def test_relays_are_launched_with_more_for_their_network_where_the_estimate_counts_on_it() -> None:
    tokens = {}
    for kinds in ({WEST: ["t3.small"]}, None):
        cloud = Cloud()
        accepted = transfer(relays={"instanceTypes": ["t3.small"]})
        known = estimate(1).model_copy(update={"weighted_types": kinds})
        begin(cloud, accepted, known)
        spawn_relays(SpawnInput(transfer=accepted, estimate=known), cloud.world)
        launched = {region: cloud.compute[region].launches for region in (WEST, IRELAND)}
        wants = {region: [one.favours_network for one in made] for region, made in launched.items()}
        assert wants == {WEST: [bool(kinds)], IRELAND: [False]}
        tokens[bool(kinds)] = {region: made[0].client_token for region, made in launched.items()}
    # EC2 takes a token again for the same launch alone.
    assert tokens[True][WEST] != tokens[False][WEST]
    assert tokens[True][IRELAND] == tokens[False][IRELAND]
