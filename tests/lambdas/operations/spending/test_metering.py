from typing import Any

import pytest

from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.transfer_plan import PlanListing
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.record import transfer_life
from lambdas.core.spending.meter import BudgetDecision, Decision
from lambdas.handlers.reactions.reconcile import reconcile
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet import relay_start
from lambdas.operations.spending import metering
from tests.lambdas.builders import (
    LISTING_DIGEST,
    SHARED,
    WEST,
    delivered,
    estimate,
    figure,
    figures,
    plan,
    progress,
    transfer,
    with_machine,
)
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, begin, path_ids, spawned, states
from tests.lambdas.minute import look_due

# Of 1 GB: egress 0.02, control plane 0.001 and as much until a look that is late, 0.006 for a pair until the meter can
# end it. Slow relays use up the rest.
BUDGET, SLOW_SECONDS = 0.031, 60.0


def _spent_of(cloud: Cloud, *, delivered_bytes: int) -> float:
    record = cloud.transfers.get("first")
    assert record is not None
    return metering.look(cloud.world, record, delivered_bytes).egress


def joined(pairs: int = 1, **objective: Any) -> Cloud:
    cloud = spawned(pairs, objective=objective)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.tokens.put("first", "token", 1)
    if objective:
        cloud.clock.time += SLOW_SECONDS
    return cloud


def report(cloud: Cloud, *, moved: int, delivered: int | None = None, start: int = 1, rate: float = 40.0) -> None:
    found = progress(sent=moved if delivered is None else delivered, rate=rate, start=start)
    direct = [lane for lane in found.lanes if lane.path_id == "direct"]
    changes = {"moved_bytes": moved, "first_byte_at": 1000.0, "lanes": direct}
    cloud.agents.progresses[SHARED, "s0"] = Progress.model_validate(found.model_copy(update=changes))


def look(cloud: Cloud) -> Decision:
    record = cloud.transfers.get("first")
    assert record is not None
    return metering.enforce(cloud.world, record)


def spent(cloud: Cloud) -> Any:
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spent is not None
    return record.spent


def test_a_look_is_kept_and_money_only_grows() -> None:
    cloud = joined()
    report(cloud, moved=10**8)
    assert look(cloud) is Decision.GO_ON
    first = spent(cloud)
    assert first.egress == pytest.approx(0.1 * 0.02)
    assert first.relays == pytest.approx(2 * 60 * 0.1 / 3600)
    del cloud.agents.progresses[SHARED, "s0"]
    cloud.clock.time += 60
    look(cloud)
    assert spent(cloud).egress == first.egress
    assert spent(cloud).total > first.total


def test_each_look_counts_what_came_since_the_one_before() -> None:
    cloud = joined()
    report(cloud, moved=10**8)
    look(cloud)
    cloud.clock.time += 60
    report(cloud, moved=3 * 10**8)
    look(cloud)
    assert cloud.metrics.sums["DollarsSpent"] == pytest.approx(spent(cloud).total)
    assert cloud.metrics.sums["BytesSent"] == 3 * 10**8


def test_bytes_of_an_end_that_was_started_again_are_not_forgotten() -> None:
    cloud = joined()
    report(cloud, moved=10**8)
    look(cloud)
    report(cloud, moved=5 * 10**7, start=2)
    look(cloud)
    assert spent(cloud).egress == pytest.approx(0.15 * 0.02)


def test_an_earlier_look_that_is_late_does_not_take_back_a_later_one() -> None:
    cloud = joined()
    report(cloud, moved=10**8)
    late = cloud.transfers.get("first")
    cloud.clock.time += 60
    look(cloud)
    before = spent(cloud)
    cloud.clock.time -= 30
    assert late is not None
    metering.look(cloud.world, late)
    assert spent(cloud) == before


def test_probes_between_the_regions_are_paid_for() -> None:
    cloud = joined()
    node = next(one for one in cloud.nodes.of("first") if one.stage == 0)
    amend(cloud, node, measured_inter_region=500.0)
    look(cloud)
    assert spent(cloud).egress == pytest.approx(500e6 * 2.0 / 1e9 * 0.02)


def test_probes_are_held_back_from_the_budget_until_they_are_done() -> None:
    cloud = joined(maxCostUsd=1.0)
    known = estimate(1, pre_test=True)
    rows = [row.model_copy(update={"probes_usd_at_most": 2.0} if row.pairs else {}) for row in known.rows]
    probing = known.model_copy(update={"rows": rows})
    assert cloud.transfers.change(transfer(), transfer_life.note(estimate=probing))
    for one in cloud.nodes.of("first"):
        amend(cloud, one, state="READY", joined_at=None)
    report(cloud, moved=10**8)
    record = cloud.transfers.get("first")
    assert record is not None
    assert not metering.bears(cloud.world, record, None)
    for one in cloud.nodes.of("first"):
        amend(cloud, one, measured_inter_region=10.0)
    assert metering.bears(cloud.world, record, None)
    assert look(cloud) is Decision.GO_ON
    assert spent(cloud).egress == pytest.approx((0.1 + 0.01 * 2.0) * 0.02)


def test_probes_that_a_released_fleet_never_reported_are_counted_at_their_most() -> None:
    cloud = joined()
    known = estimate(1, pre_test=True)
    rows = [row.model_copy(update={"probes_usd_at_most": 0.4} if row.pairs else {}) for row in known.rows]
    probing = known.model_copy(update={"rows": rows})
    assert cloud.transfers.change(transfer(), transfer_life.note(estimate=probing))
    now = cloud.clock.now()
    stage = transfer_life.note_stage("Pre-Test Relays", {"enteredAt": now - 2})
    assert cloud.transfers.change(transfer(), stage)
    for one in cloud.nodes.of("first"):
        amend(cloud, one, state="LOST", joined_at=None, ready_at=now - 3, ended_at=now - 1)
    look(cloud)
    # Two of the four relays that would have been tested.
    assert spent(cloud).egress == pytest.approx(0.2)


def test_between_two_zones_of_one_region_the_direct_path_is_metered_and_stopped_at_the_budget() -> None:
    accepted = transfer(objective={"maxCostUsd": BUDGET})
    there = {"region": WEST, "availability_zone": "us-west-2b"}
    accepted = with_machine(accepted, "r0", **there)
    cloud = Cloud()
    inside = figures(egress=0.0).model_copy(update={"cross_zone": figure(0.02, "published")})
    begin(cloud, accepted, estimate(0).model_copy(update={"figures": inside}))
    cloud.agents.progresses[accepted.partition, "s0"] = progress(sent=5 * 10**8, rate=1.0)
    assert look(cloud) is Decision.GO_ON
    assert (spent(cloud).egress, spent(cloud).cross_zone) == (0, pytest.approx(0.5 * 0.02))
    cloud.agents.progresses[accepted.partition, "s0"] = progress(sequence=2, sent=9 * 10**8, rate=400.0)
    assert look(cloud) is Decision.STOP
    assert spent(cloud).cross_zone == pytest.approx(0.9 * 0.02)
    assert spent(cloud).total < BUDGET


def test_relays_are_released_and_the_rest_goes_on_the_direct_path() -> None:
    cloud = joined(maxCostUsd=BUDGET)
    report(cloud, moved=2 * 10**8)
    assert look(cloud) is Decision.RELEASE_FLEET
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct"]
    assert (cloud.metrics.sums["RelaysLaunched"], cloud.metrics.sums.get("RelaysLost")) == (2, None)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.budget is not None
    assert f"{BUDGET} dollars are nearly used up" in record.budget.cause
    assert (record.status, record.fenced, record.outcome) == ("ACTIVE", False, None)
    assert cloud.executions.answers == []
    assert look(cloud) is Decision.GO_ON


@pytest.mark.parametrize("wish", [{"compress": "auto"}, {"preserve": {"sparse": True}}])
def test_what_did_not_cross_the_network_costs_nothing(wish: dict[str, Any]) -> None:
    cloud = spawned(1, **wish)
    report(cloud, moved=10**9)
    said = cloud.agents.progresses[SHARED, "s0"]
    cloud.agents.progresses[SHARED, "s0"] = said.model_copy(update={"saved_bytes": 7 * 10**8})
    assert _spent_of(cloud, delivered_bytes=10**9) == pytest.approx(0.3 * 0.02)
    # The event that ends it says the same of all.
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(sent_bytes=2 * 10**9, saved_bytes=10**9)))
    assert _spent_of(cloud, delivered_bytes=2 * 10**9) == pytest.approx(1.0 * 0.02)


def test_what_the_destination_had_of_changed_files_costs_nothing() -> None:
    cloud = spawned(1)
    listing = PlanListing(parts=1, digest=LISTING_DIGEST, planned_folder="c/", planned_parts=1, equal_folder="e/")
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan().model_copy(update={"listing": listing})))
    report(cloud, moved=10**9)
    said = cloud.agents.progresses[SHARED, "s0"]
    cloud.agents.progresses[SHARED, "s0"] = said.model_copy(update={"saved_bytes": 10**9 - 10**6})
    assert _spent_of(cloud, delivered_bytes=10**9) == pytest.approx(10**6 * 0.02 / 1e9)


@pytest.mark.parametrize(("wish", "left_gb"), [({}, 0.0), ({"compress": "auto"}, 1.0)])
def test_file_systems_charge_what_was_read_and_written_whatever_crossed_the_network(
    wish: dict[str, Any], left_gb: float
) -> None:
    cloud = spawned(1, **wish)
    known = estimate(1, size=2 * 10**9)
    priced = known.figures.model_copy(update={"file_systems": figure(0.09, "assumed")})
    noted = transfer_life.note(estimate=known.model_copy(update={"figures": priced}), plan=plan(size=2 * 10**9))
    cloud.transfers.change(transfer(), noted)
    report(cloud, moved=10**9, rate=0.0)
    said = cloud.agents.progresses[SHARED, "s0"]
    saved = 7 * 10**8 if wish else 0
    cloud.agents.progresses[SHARED, "s0"] = said.model_copy(update={"saved_bytes": saved})
    look(cloud)
    assert spent(cloud).file_systems == pytest.approx(0.09)
    found = cloud.transfers.get("first")
    assert found is not None
    reading = metering._read(cloud.world, found, spent(cloud).sent)
    assert reading.until_next_look().file_systems - 0.09 >= left_gb * 0.09
    # What is known to have arrived was written, whatever the sender says.
    assert metering.look(cloud.world, found, 2 * 10**9).file_systems == pytest.approx(0.18)


def test_a_sender_that_may_save_nothing_pays_for_what_arrived_whatever_it_says() -> None:
    cloud = spawned(1)
    report(cloud, moved=10**9)
    said = cloud.agents.progresses[SHARED, "s0"]
    cloud.agents.progresses[SHARED, "s0"] = said.model_copy(update={"saved_bytes": 10**9})
    assert _spent_of(cloud, delivered_bytes=10**9) == pytest.approx(0.02)


def test_lanes_drain_before_their_relays_are_terminated() -> None:
    cloud = joined(maxCostUsd=BUDGET)
    report(cloud, moved=2 * 10**8)
    through_relays = progress(sent=2 * 10**8).model_copy(update={"moved_bytes": 2 * 10**8})
    cloud.agents.progresses[SHARED, "s0"] = through_relays
    seen: list[tuple[int, Membership | None]] = []

    def drained() -> None:
        seen.append((len(cloud.alive()), cloud.agents.membership(SHARED)))
        report(cloud, moved=2 * 10**8)

    cloud.clock.at(7, drained)
    assert look(cloud) is Decision.RELEASE_FLEET
    (alive, membership) = seen[0]
    assert alive == 2
    assert membership is not None
    assert [path.path_id for path in membership.paths] == ["direct"]
    assert cloud.alive() == []


def test_nothing_joins_or_is_launched_once_relays_were_released() -> None:
    cloud = joined(maxCostUsd=BUDGET)
    report(cloud, moved=2 * 10**8)
    look(cloud)
    record = cloud.transfers.get("first")
    assert record is not None
    accepted = record.transfer
    event = SpawnInput(transfer=accepted, estimate=estimate(1))
    assert spawn_relays(event, cloud.world)["spawned"] == 0
    relay_start.join_ready(cloud.world, "first")
    assert path_ids(cloud) == ["direct"]


def test_a_relay_that_slipped_in_meanwhile_goes_with_the_next_look() -> None:
    cloud = joined(maxCostUsd=BUDGET)
    report(cloud, moved=2 * 10**8)
    cloud.transfers.change(transfer(), transfer_life.note(budget=BudgetDecision(decision="direct", cause="x")))
    assert len(cloud.alive()) == 2
    look(cloud)
    assert cloud.alive() == []


def test_stop_fences_ends_relays_and_fails_the_task_with_what_to_do() -> None:
    cloud = joined(maxCostUsd=BUDGET, onBudget="stop")
    report(cloud, moved=10**9, delivered=4 * 10**8)
    assert look(cloud) is Decision.STOP
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.status, record.fenced) == ("DONE", True)
    assert cloud.alive() == []
    [(answer, (token, error, cause))] = cloud.executions.answers
    assert (answer, token, error) == ("failure", "token", "BudgetReached")
    assert "what has arrived stays" in cause


def test_transfer_that_was_delivered_meanwhile_is_not_stopped() -> None:
    cloud = joined(maxCostUsd=BUDGET, onBudget="stop")
    report(cloud, moved=10**9, delivered=4 * 10**8)
    record = cloud.transfers.get("first")
    assert record is not None
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(sent_bytes=10**9)))
    metering.enforce(cloud.world, record)
    assert cloud.executions.answers == []
    assert len(cloud.alive()) == 2


def test_before_the_ends_have_started_only_the_outcome_is_written() -> None:
    cloud = joined(maxCostUsd=BUDGET, onBudget="stop")
    cloud.tokens.delete("first")
    report(cloud, moved=10**9, delivered=4 * 10**8)
    look(cloud)
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.status, record.fenced) == ("DONE", False)


def test_no_pair_is_launched_that_the_budget_does_not_bear() -> None:
    assert len(spawned(3, objective={"maxCostUsd": 1.0}).alive()) == 6
    assert len(spawned(3, objective={"maxCostUsd": 0.032}).alive()) == 2


def test_without_a_budget_money_is_counted_and_nothing_else_happens() -> None:
    cloud = joined()
    report(cloud, moved=10**15)
    assert look(cloud) is Decision.GO_ON
    assert spent(cloud).total > 1000
    assert set(states(cloud).values()) == {"JOINED"}


def test_the_reconciler_says_what_became_of_a_budget() -> None:
    cloud = joined(maxCostUsd=BUDGET)
    report(cloud, moved=2 * 10**8)
    found = reconcile(look_due(), cloud.world)
    assert found["first"]["budget"] == "direct"
    ended: list[Node] = [node for node in cloud.nodes.of("first") if node.ended_at is not None]
    assert len(ended) == 2
