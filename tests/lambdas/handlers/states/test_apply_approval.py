from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.errors import DeadlineUnreachable, InvalidApproval
from lambdas.core.record import transfer_life
from lambdas.handlers.states.apply_approval import ApplyInput, apply_approval
from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
from tests.lambdas.builders import IRELAND, WEST, estimate, figure, profile, survey, transfer
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


PAIR = f"{WEST}>{IRELAND}"
HOUR = 3600.0


def asked(hours: float, relay_rate: float = 20.0, **objective: Any) -> tuple[Cloud, ApplyInput]:
    """An estimate of 20 GB that a person answers so many hours later; `relay_rate`: MB/s known of relays then."""
    cloud = Cloud()
    accepted = transfer(relays={"instanceTypes": ["t3.small"]}, objective=objective, approval="required")
    for kind in ("m5.large", "t3.small"):
        cloud.profiles.profiles[kind, PAIR] = profile(20, 160, 5)
    cloud.transfers.create(accepted)
    made = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=20 * 10**9)), cloud.world)
    now = cloud.clock.now()
    stage = transfer_life.note_stage("Estimate Transfer", {"enteredAt": now - 1, "leftAt": now})
    assert cloud.transfers.change(accepted, stage)
    cloud.clock.time += hours * HOUR
    cloud.profiles.profiles["t3.small", PAIR] = profile(relay_rate, 160, 5)
    return cloud, ApplyInput(transfer=accepted, estimate=made, answer={"pairs": 2})


def test_estimate_of_less_than_an_hour_ago_is_taken_as_it_is() -> None:
    cloud, answered = asked(0.9, relay_rate=5.0)
    assert apply_approval(answered, cloud.world).rows == answered.estimate.rows


def test_old_estimate_is_made_again_and_the_reason_says_what_changed() -> None:
    cloud, answered = asked(30, relay_rate=40.0)
    found = apply_approval(answered, cloud.world)
    assert found.chosen.seconds < 0.7 * answered.estimate.row(2).seconds
    assert "approved by person: 2 pairs; the estimate was 1 d 6 h old: 2 pairs cost" in found.reason
    assert found.on_the_way is None
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_row_that_the_estimate_would_no_longer_have_is_judged_as_any_other() -> None:
    cloud, answered = asked(2)
    world = replace(cloud.world, env=replace(cloud.world.env, max_pairs=64))
    seen = answered.estimate.having(11)
    found = apply_approval(answered.model_copy(update={"estimate": seen, "answer": {"pairs": 11}}), world)
    assert (found.chosen_pairs, found.chosen.pairs) == (11, 11)
    assert "approved by person: 11 pairs" in found.reason


def test_row_that_has_become_dearer_since_is_refused() -> None:
    cloud, answered = asked(2)
    row = answered.estimate.row(2)
    cheap = row.model_copy(update={"cost_usd": row.cost_usd / 1.2})
    rows = [cheap if one.pairs == 2 else one for one in answered.estimate.rows]
    seen = answered.estimate.model_copy(update={"rows": rows})
    with pytest.raises(
        InvalidApproval, match=rf"2 h 00 min old: 2 pairs cost {row.cost_usd:.4f} dollars .*; start again"
    ):
        apply_approval(answered.model_copy(update={"estimate": seen}), cloud.world)


def test_deadline_counts_no_wait_and_is_held_against_what_is_known_now() -> None:
    cloud, answered = asked(2, deadlineSeconds=450)
    assert apply_approval(answered, cloud.world).chosen.sure_seconds < 450
    # By now relays are known to carry a third less.
    cloud, answered = asked(2, relay_rate=13.0, deadlineSeconds=450)
    assert answered.estimate.row(2).sure_seconds < 450
    with pytest.raises((InvalidApproval, DeadlineUnreachable), match=r"deadlineSeconds"):
        apply_approval(answered, cloud.world)


def test_what_the_survey_saw_of_the_ends_is_not_forgotten() -> None:
    cloud, answered = asked(2)
    disk = {"source_disk": figure(40.0, "measured"), "entries": 7, "file_systems": figure(0.0001, "assumed")}
    figures = answered.estimate.figures.model_copy(update=disk)
    slow = answered.estimate.model_copy(update={"figures": figures})
    found = apply_approval(answered.model_copy(update={"estimate": slow}), cloud.world)
    assert found.chosen.limit == "the source's disk reads at most 40.0 MB/s"
    assert found.figures.entries == 7
    assert found.figures.file_systems == figures.file_systems
