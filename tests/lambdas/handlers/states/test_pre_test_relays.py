from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lambdas.adapters.records import ProbeResult
from lambdas.core.errors import MissingPermission
from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.join_relays import JoinInput, join_relays
from lambdas.handlers.states.pre_test_relays import PreTestInput, pre_test_relays
from tests.lambdas.builders import delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned, states

RATES = {"pair-1": (5.0, 150.0), "pair-2": (20.0, 150.0), "pair-3": (5.0, 160.0), "pair-4": (20.0, 100.0)}


def ready(pairs: int, **changes: Any) -> Cloud:
    cloud = spawned(pairs, pre_test=True, **changes)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    return cloud


def sender_answers(cloud: Cloud, rates: dict[str, tuple[float, float]]) -> list[Membership]:
    """The sender as it would act on a membership record with probes."""
    seen: list[Membership] = []
    original = cloud.agents.write_membership

    def write(shared: str, membership: Membership) -> bool:
        seen.append(membership)
        for probe in membership.probes:
            path_id = probe.path.path_id
            if path_id in rates:
                result = ProbeResult(path_id, probe.path.generation, *rates[path_id])
                cloud.agents.results.setdefault(shared, []).append(result)
        return original(shared, membership)

    cloud.agents.write_membership = write  # type: ignore[method-assign]
    return seen


def test_slower_half_is_terminated_and_the_better_half_joins() -> None:
    cloud = ready(2)
    sender_answers(cloud, RATES)
    found = pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)
    assert [entry["slot"] for entry in found["ranking"]] == [2, 4, 3, 1]
    assert sorted(found["rejected"]) == ["pair-1", "pair-3"]
    kinds = list(states(cloud).values())
    assert (kinds.count("REJECTED"), kinds.count("READY")) == (4, 4)
    assert len(cloud.alive()) == 4
    assert join_relays(JoinInput(transfer=transfer()), cloud.world) == {"joined": 2}
    assert path_ids(cloud) == ["direct", "pair-2", "pair-4"]


def test_probes_are_taken_out_again_and_the_results_kept_on_the_nodes() -> None:
    cloud = ready(1)
    seen = sender_answers(cloud, RATES)
    pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)
    assert [probe.path.path_id for probe in seen[0].probes] == ["pair-1", "pair-2"]
    assert seen[-1].probes == []
    best = next(node for node in cloud.nodes.of("first") if node.node_id == "source-2-0")
    assert (best.measured_inter_region, best.measured_intra_region) == (20.0, 150.0)


def test_request_says_how_long_each_hop_is_measured() -> None:
    cloud = ready(1, preTestSeconds=30)
    seen = sender_answers(cloud, RATES)
    pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)
    assert {probe.seconds for probe in seen[0].probes} == {30.0}


def test_pair_without_a_result_ranks_last_and_the_wait_ends() -> None:
    cloud = ready(1)
    sender_answers(cloud, {"pair-2": (1.0, 1.0)})
    assert pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)["rejected"] == ["pair-1"]


def test_no_more_pairs_than_wanted_are_kept_untested() -> None:
    cloud = ready(2)
    for node in cloud.nodes.of("first"):
        if node.slot > 2:
            cloud.nodes.change(node, node_life.lose("gone", cloud.clock.now()))
    assert pre_test_relays(PreTestInput(transfer=transfer()), cloud.world) == {"ranking": [], "rejected": []}


@pytest.mark.parametrize(
    "end",
    [
        lambda cloud: cloud.transfers.change(transfer(), transfer_life.finish(delivered())),
        lambda cloud: cloud.transfers.change(transfer(), transfer_life.FENCE),
    ],
)
def test_transfer_that_ends_during_the_test_rejects_nobody(end: Callable[[Cloud], object]) -> None:
    cloud = ready(1)
    cloud.clock.at(2, lambda: end(cloud))
    started = cloud.clock.time
    assert pre_test_relays(PreTestInput(transfer=transfer()), cloud.world) == {"ranking": [], "rejected": []}
    assert cloud.clock.time - started == 2
    assert set(states(cloud).values()) == {"READY"}


def test_failure_for_good_discards_all_that_were_to_be_tested() -> None:
    cloud = ready(1)

    def refuse(*_: object) -> None:
        raise MissingPermission("dynamodb:PutItem")

    cloud.agents.write_membership = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(MissingPermission):
        pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)
    assert cloud.alive() == []


def test_long_test_of_many_pairs_ends_before_its_lambda_does() -> None:
    cloud = ready(2)
    cloud.world = replace(cloud.world, env=replace(cloud.world.env, pre_test_seconds=400.0))
    started = cloud.clock.time
    assert len(pre_test_relays(PreTestInput(transfer=transfer()), cloud.world)["rejected"]) == 2
    assert cloud.clock.time - started == 780
