from lambdas.core.record import transfer_life
from lambdas.handlers.states.apply_approval import ApplyInput
from lambdas.handlers.states.apply_measuring_approval import apply_measuring_approval
from lambdas.handlers.states.estimate_measuring import estimate_measuring
from lambdas.handlers.states.estimate_transfer import EstimateInput
from tests.lambdas.builders import survey, transfer
from tests.lambdas.cloud import Cloud

ASKED = transfer(profile="measure", approval="required")
HOUR = 3600.0


def answered(hours: float, pairs: int) -> tuple[Cloud, int, int]:
    """A person answers so many hours after the estimate: its cloud, and pairs and bytes of the estimate that holds."""
    cloud = Cloud()
    cloud.transfers.create(ASKED)
    before = estimate_measuring(EstimateInput(transfer=ASKED, survey=survey()), cloud.world)
    made, waits = cloud.clock.now(), {"enteredAt": cloud.clock.now(), "leftAt": cloud.clock.now()}
    cloud.transfers.change(ASKED, transfer_life.note_stage("Estimate Measuring", {"enteredAt": made, "leftAt": made}))
    cloud.transfers.change(ASKED, transfer_life.note_stage("Await Measuring Approval", waits))
    cloud.clock.sleep(hours * HOUR)
    found = apply_measuring_approval(ApplyInput(transfer=ASKED, estimate=before, answer={"pairs": pairs}), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found
    return cloud, found.chosen_pairs, found.bytes


def test_row_that_a_person_chose_is_what_is_measured() -> None:
    _, pairs, size = answered(0.1, 2)
    assert (pairs, size) == (2, 0)


def test_old_estimate_is_made_again_as_one_of_measuring() -> None:
    _, pairs, size = answered(3, 2)
    assert (pairs, size) == (2, 0)


def test_time_that_people_took_counts_as_the_states() -> None:
    cloud, _, _ = answered(0.5, 1)
    record = cloud.transfers.get("first")
    assert record is not None
    times = record.stages["Await Measuring Approval"]
    assert times["leftAt"] - times["enteredAt"] == 0.5 * HOUR
