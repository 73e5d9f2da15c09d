"""The stages around the data, and the estimate's error, as a finished transfer shows them."""

from typing import Any

import pytest

from lambdas.core.record.transfer_record import Status, TransferRecord
from lambdas.core.report.stage_samples import stage_samples
from lambdas.core.request.bandwidth import BandwidthLimit
from tests.lambdas.builders import estimate, transfer

# The execution starts at 1000; the estimate of one pair is 25 s.
STAGES = {"Estimate Transfer": {"enteredAt": 1008.0, "leftAt": 1009.5}}


def learnt(status: Status = "SUCCEEDED", asked: dict[str, Any] | None = None, **changes: Any) -> dict[str, float]:
    given: dict[str, Any] = {"stages": STAGES, "estimate": estimate(1), **changes}
    record = TransferRecord(transfer=transfer(**(asked or {})), status=status, fenced=True, **given)
    return {one.metric: one.value for one in stage_samples(record, 1013.0, 1043.0, 1060.0)}


def test_stages_and_the_error_are_learnt_from_a_success() -> None:
    assert learnt() == {"survey": 9.5, "planning": 3.5, "closing": 17.0, "accuracy": pytest.approx(1.2)}
    assert learnt("SUCCEEDED_WITH_SKIPS") == learnt()


def test_failed_transfers_and_those_that_measure_teach_nothing() -> None:
    assert learnt("FAILED") == {}
    assert learnt(asked={"profile": "measure"}) == {}


@pytest.mark.parametrize("waiting", ["Await Approval", "Extend Plan"])
def test_what_waited_for_people_or_a_listing_teaches_no_stage_before_the_data(waiting: str) -> None:
    assert set(learnt(stages={**STAGES, waiting: {}})) == {"closing", "accuracy"}
    assert set(learnt(asked={"whenBusy": "wait"})) == {"closing", "accuracy"}


def test_a_limit_that_was_changed_or_a_short_transfer_is_no_error_of_the_estimate() -> None:
    assert "accuracy" not in learnt(bandwidth=BandwidthLimit().set_to(80))
    short = estimate(1)
    rows = [row.model_copy(update={"seconds": 9.0}) for row in short.rows]
    assert "accuracy" not in learnt(estimate=short.model_copy(update={"rows": rows}))


def test_error_of_the_estimate_is_that_of_the_row_that_was_chosen_first() -> None:
    first = estimate(2)
    later = first.model_copy(update={"chosen_pairs": 0, "first_choice": first.row(2)})
    assert learnt(estimate=later)["accuracy"] == pytest.approx(30.0 / (50.0 / 3))
