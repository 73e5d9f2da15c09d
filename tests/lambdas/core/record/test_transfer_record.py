import pytest

from lambdas.core.record.transfer_life import create
from lambdas.core.record.transfer_record import Estimated, Planned, TransferRecord
from lambdas.core.transfer.record_format import machines_of
from tests.lambdas import builders

ITEM = create(builders.transfer()).item
PATHS, PLAN = {"paths": builders.paths().to_document()}, {"plan": builders.plan().to_document()}
ESTIMATE = {"estimate": builders.estimate(1).to_document()}


@pytest.mark.parametrize(
    ("documents", "phase"),
    [
        ({}, TransferRecord),
        (ESTIMATE, TransferRecord),
        (PATHS | ESTIMATE, TransferRecord),
        (PATHS | PLAN, Planned),
        (PATHS | PLAN | ESTIMATE, Estimated),
    ],
)
def test_a_record_is_in_the_phase_of_what_it_holds(documents: dict[str, object], phase: type[TransferRecord]) -> None:
    assert type(TransferRecord.parse(ITEM | documents)) is phase


def test_of_a_record_of_another_format_only_what_a_teardown_needs_is_read() -> None:
    old = {**ITEM, **PATHS, "formatVersion": 1, "plan": {"of": "another form"}, "ends": 7, "watch": []}
    record = TransferRecord.parse(old | {"teardown": {"stopped": 2}})
    assert record.teardown == {"stopped": 2}  # without it the transfer would be taken down for ever
    assert (record.transfer.format_version, record.status, record.fenced) == (1, "ACTIVE", False)
    assert (record.paths, record.plan, record.estimate, record.spawned) == (None, None, None, None)


def test_one_machine_at_each_end_of_an_earlier_format_is_its_only_seat() -> None:
    transfer = builders.transfer()
    ends = {"source": transfer.at_source.to_document(), "destination": transfer.at_destination.to_document()}
    read = TransferRecord.parse({**ITEM, **ends, "formatVersion": 6}).transfer
    assert (read.seats, read.partition) == (transfer.seats, transfer.partition)
    assert machines_of({**ITEM, **ends}) == machines_of(ITEM)


def test_machines_of_the_user_that_an_earlier_format_told_apart_by_a_word_have_a_stage() -> None:
    machine = builders.transfer().at_source.to_document()
    old = {**ITEM, "formatVersion": 2, "existing": [{**machine, "role": "source"}, {**machine, "role": "destination"}]}
    assert [relay.stage for relay in TransferRecord.parse(old).transfer.existing] == [0, 1]
