from typing import Any

import pytest

from lambdas.core.errors import MeasuringFailed
from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.handlers.states.await_measured_relays import await_measured_relays
from lambdas.handlers.states.await_relays import AwaitInput
from lambdas.handlers.states.measure_relays import measure_relays
from lambdas.handlers.states.pre_test_relays import PreTestInput
from tests.lambdas.builders import delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned
from tests.lambdas.handlers.states.test_pre_test_relays import RATES, sender_answers


def measuring(rates: dict[str, tuple[float, float]]) -> tuple[Cloud, list[Membership]]:
    cloud = spawned(1, pre_test=True, profile="measure")
    await_measured_relays(AwaitInput(transfer=transfer(profile="measure")), cloud.world)
    cloud.tokens.put("first", "token", 1)
    return cloud, sender_answers(cloud, rates)


def measure(cloud: Cloud) -> dict[str, Any]:
    return measure_relays(PreTestInput(transfer=transfer(profile="measure")), cloud.world)


def test_measuring_ends_with_the_direct_path_through_the_best_pairs_other_side() -> None:
    cloud, seen = measuring(RATES | {"direct": (30.0, 0.0)})
    assert measure(cloud)["rejected"] == ["pair-1"]
    (probe,) = next(membership.probes for membership in seen if len(membership.probes) == 1)
    assert [hop.node_id for hop in probe.path.hops] == ["destination-2-0"]
    ((kind, (token, outcome)),) = cloud.executions.answers
    assert (kind, token) == ("success", "token")
    assert outcome["measured"]["directMBps"] == 30.0
    assert [pair["pathId"] for pair in outcome["measured"]["pairs"]] == ["pair-2", "pair-1"]
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.status, record.outcome) == ("DONE", Outcome.from_document(outcome))


def test_measuring_takes_a_single_pair_too() -> None:
    cloud, _ = measuring({"pair-2": (20.0, 150.0), "direct": (30.0, 0.0)})
    for node in cloud.nodes.of("first"):
        if node.slot == 1:
            cloud.nodes.change(node, node_life.lose("gone", cloud.clock.now()))
    assert [entry["slot"] for entry in measure(cloud)["ranking"]] == [2]


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        ({}, "no pair of relays could be measured: the sender did not answer"),
        ({"pair-1": (20.0, 150.0)}, "the direct path: from i-0aaaaaaaaaaaaaaa1 to a relay: the sender did not answer"),
    ],
)
def test_measuring_without_a_result_fails_and_leaves_no_relay(rates: dict[str, tuple[float, float]], why: str) -> None:
    cloud, _ = measuring(rates)
    with pytest.raises(MeasuringFailed, match=why):
        measure(cloud)
    assert cloud.alive() == []
    assert cloud.executions.answers == []


def test_measuring_without_a_pair_says_what_became_of_the_relays() -> None:
    cloud, _ = measuring({})
    for node in cloud.nodes.of("first"):
        cloud.nodes.change(node, node_life.lose("EC2 does not list its instance any more", cloud.clock.now()))
    with pytest.raises(MeasuringFailed, match="source-1-0: EC2 does not list"):
        measure(cloud)


def test_execution_that_is_over_measures_nothing() -> None:
    cloud, seen = measuring(RATES)
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert measure(cloud) == {"ranking": [], "rejected": []}
    assert [one.probes for one in seen if one.probes] == []
