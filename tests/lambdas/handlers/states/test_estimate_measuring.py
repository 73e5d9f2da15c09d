import pytest

from lambdas.core.errors import BudgetTooSmall
from lambdas.handlers.states.estimate_measuring import estimate_measuring
from lambdas.handlers.states.estimate_transfer import EstimateInput
from tests.lambdas.builders import profile, survey, transfer
from tests.lambdas.cloud import Cloud

PAIR = "us-west-2>eu-west-1"


def test_where_nothing_is_moved_the_estimate_is_of_measuring() -> None:
    cloud = Cloud()
    cloud.profiles.profiles["t3.small", PAIR] = profile(20, 160, 5)
    accepted = transfer(profile="measure", objective={"deadlineSeconds": 1}, relays={"pairs": 4})
    found = estimate_measuring(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert (found.bytes, found.chosen_pairs, found.pre_test, found.rows[0].pairs) == (0, 1, True, 1)
    assert found.row(1).seconds == 5 + 2.25 * cloud.world.env.pre_test_seconds


def test_the_record_keeps_it_and_a_source_without_a_byte_is_no_reason_against_relays() -> None:
    cloud, accepted = Cloud(), transfer(profile="measure")
    cloud.transfers.create(accepted)
    found = estimate_measuring(EstimateInput(transfer=accepted, survey=survey(0, size=0, files=0)), cloud.world)
    assert (found.chosen_pairs, found.reason) == (1, "measures 2 pairs and the direct path, and moves nothing")
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_budget_that_does_not_bear_a_pair_is_refused() -> None:
    accepted = transfer(profile="measure", objective={"maxCostUsd": 0.0001})
    with pytest.raises(BudgetTooSmall, match="less than measuring needs"):
        estimate_measuring(EstimateInput(transfer=accepted, survey=survey()), Cloud().world)
