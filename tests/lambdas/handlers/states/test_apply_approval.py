from typing import Any

import pytest

from lambdas.core import transfer_life
from lambdas.core.errors import InvalidApproval
from lambdas.handlers.states.apply_approval import ApplyInput, apply_approval
from tests.lambdas.builders import estimate, transfer
from tests.lambdas.cloud import Cloud


def prepared() -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(3)))
    return cloud


def event(answer: Any) -> ApplyInput:
    return ApplyInput(transfer=transfer(), estimate=estimate(3), answer=answer)


def test_answer_becomes_the_estimate_of_everything_after() -> None:
    cloud = prepared()
    found = apply_approval(event({"pairs": 2}), cloud.world)
    assert found.chosen_pairs == 2
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_time_that_people_took_counts_as_the_states() -> None:
    cloud = prepared()
    cloud.transfers.change(
        transfer(), transfer_life.note_stage("Await Approval", {"enteredAt": 400.0, "leftAt": 400.5})
    )
    apply_approval(event({"pairs": 1}), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.stages["Await Approval"] == {"enteredAt": 400.0, "leftAt": 1000.0}


@pytest.mark.parametrize("answer", [{"pairs": 40}, {}, "yes"])
def test_answer_that_is_no_row_changes_nothing(answer: Any) -> None:
    cloud = prepared()
    with pytest.raises(InvalidApproval):
        apply_approval(event(answer), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == estimate(3)
