"""The life of a transfer is the one in the documentation; whoever comes late changes nothing, and an end stays."""

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_life import RULES, Change, ChangeName, create, resume
from lambdas.core.record.transfer_record import ENDED, EndStatus, Status, TransferRecord
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.seats.liveness import Seats
from lambdas.core.spending.meter import Dollars, Spent
from lambdas.core.spending.sent import Sent
from tests.lambdas import builders
from tests.lambdas.memory.conditions import after, holds
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "design" / "011-again.md").read_text()
SPENT = Spent.of(Dollars(relays=0.25, egress=1.5, cross_zone=0.5, control_plane=1e-5), 60.5, Sent().after(1, 5))
CHANGES: dict[str, Change] = {
    "note": transfer_life.note(paths=builders.paths(), plan=builders.plan()),
    "note-stage": transfer_life.note_stage("Survey Ends", {"enteredAt": 1.5}),
    "spent": transfer_life.note(spent=SPENT),
    "seats": transfer_life.note(seats=Seats.begun(1, 1000.5, ["r0", "s0"], version=1)),
    "bandwidth": transfer_life.note(bandwidth=BandwidthLimit().changed_to(80, 1000.5)),
    "count-attempt": transfer_life.COUNT_ATTEMPT,
    "fence": transfer_life.FENCE,
    "finish": transfer_life.finish(builders.delivered()),
    "succeed": transfer_life.close("SUCCEEDED"),
    "succeed-with-skips": transfer_life.close("SUCCEEDED_WITH_SKIPS"),
    "fail": transfer_life.close("FAILED"),
    "reopen": transfer_life.REOPEN,
}
TRANSFER = builders.transfer()
STATUSES = get_args(Status)


def item(status: Status = "ACTIVE", **changes: Any) -> dict[str, Any]:
    return {**create(TRANSFER).item, "status": status, **changes}


def test_every_change_of_the_table_is_tried() -> None:
    assert {change.name for change in CHANGES.values()} == set(get_args(ChangeName)) == set(RULES)


def test_the_diagram_in_the_documentation_has_the_arrows_that_change_the_status() -> None:
    arrows = set(re.findall(r"^ +(\S+) --> ([A-Z_]+): ([a-z-]+)$", PAGE, re.MULTILINE))
    moves = {(source, rule.target, name) for name, rule in RULES.items() if rule.target for source in rule.sources}
    resumes = {(status, "ACTIVE", "resume") for status in ENDED}
    assert arrows == moves | resumes | {("[*]", "ACTIVE", "create"), ("FAILED", "ACTIVE", "create")}


def test_the_table_in_the_documentation_says_who_makes_a_change_and_what_it_sets() -> None:
    rows = set(re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE))
    named = {name: (*rule.sets, *rule.removes, *rule.counts) for name, rule in RULES.items()}
    expected = {(name, rule.writer, ", ".join(f"`{one}`" for one in named[name])) for name, rule in RULES.items()}
    assert rows == expected


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_change_counts_only_in_a_status_that_its_rule_names(status: Status, change: Change) -> None:
    before, rule = item(status), change.rule
    changed = after(before, TRANSFER, change)
    assert (changed is not None) == (status in rule.sources)
    if changed is not None:
        assert changed["status"] == (rule.target or status)
        assert {key for key in before | changed if before.get(key) != changed.get(key)} <= {
            "status",
            *rule.sets,
            *rule.removes,
            *rule.counts,
        }


@given(st.sampled_from(STATUSES), st.sampled_from(list(CHANGES.values())))
def test_another_execution_and_a_record_that_is_not_there_are_changed_by_nobody(status: Status, change: Change) -> None:
    assert after(item(status), builders.transfer(arn="arn:another"), change) is None
    assert after(None, TRANSFER, change) is None


@given(st.lists(st.sampled_from(list(CHANGES.values())), max_size=30))
def test_whatever_comes_in_whatever_order_an_end_stays_and_the_fence_too(changes: list[Change]) -> None:
    now = TransferRecord.parse(item())
    known = item()
    for change in changes:
        known = after(known, TRANSFER, change) or known
        record = TransferRecord.parse(known)
        if now.status in ENDED:
            assert record.status == now.status
        assert STATUSES.index(record.status) >= STATUSES.index(now.status), "no status leads back"
        assert record.fenced or not now.fenced
        assert not record.closed or record.status in ENDED, "only what is reported is closed"
        assert record.attempt >= now.attempt
        assert now.outcome in (None, record.outcome), "the first outcome counts"
        now = record


@pytest.mark.parametrize(("earlier", "counts"), [(60.5, True), (61.0, False)])
def test_what_was_spent_is_replaced_by_no_earlier_reading(earlier: float, counts: bool) -> None:
    before = item(spent={**SPENT.to_document(), "at": earlier})
    assert (after(before, TRANSFER, CHANGES["spent"]) is not None) == counts


@given(st.integers(0, 3))
def test_a_look_at_the_ends_replaces_the_one_before_it_only(version: int) -> None:
    before = item(seats=Seats.begun(1, 1000.5, ["r0", "s0"], version=version).to_document())
    assert (after(before, TRANSFER, CHANGES["seats"]) is not None) == (version == 0)


@given(st.integers(0, 3))
def test_a_limit_replaces_the_one_that_its_writer_has_read_only(version: int) -> None:
    before = item(bandwidth=BandwidthLimit(version=version).to_document())
    assert (after(before, TRANSFER, CHANGES["bandwidth"]) is not None) == (version == 0)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("run", [1, 2])
def test_only_what_has_ended_is_begun_anew(status: Status, active: bool, planned: bool, run: int) -> None:
    known = item(status, run=run) | ({"plan": builders.plan().to_document()} if planned else {})
    if not active:
        del known["active"]
    ended = status in get_args(EndStatus) and not active
    later = builders.transfer(arn="arn:later").model_copy(update={"run": run + 1})
    assert holds(resume(later, known).condition, known) == ended
    assert not holds(resume(later.model_copy(update={"run": run}), known).condition, known)
    free = ended and status == "FAILED" and not planned and run == 1
    assert holds(create(builders.transfer(arn="arn:later")).condition, known) == free


def test_a_change_sets_what_its_rule_says_and_nothing_else() -> None:
    with pytest.raises(ValueError, match="finish sets"):
        Change("finish", {"status": "FAILED"})
    with pytest.raises(ValueError, match="fence sets"):
        Change("fence", {})
