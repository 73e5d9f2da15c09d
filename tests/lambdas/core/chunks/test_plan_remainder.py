from lambdas.core.chunks.plan_remainder import Remainder, remainder
from tests.lambdas.builders import PLAN_ID, chunk


def test_of_files_that_are_whole_nothing_is_left() -> None:
    assert remainder([chunk(0, state="DELIVERED"), chunk(1, phase=1, bytes=0, files=3)], PLAN_ID) == Remainder(0, 0, 0)


def test_a_large_file_is_whole_only_with_all_its_parts() -> None:
    parts = [chunk(0, files=0, state="DELIVERED"), chunk(1, files=0), chunk(2, files=1, bytes=30, state="DELIVERED")]
    small = [chunk(3, files=4, state="DELIVERED"), chunk(4, files=2, bytes=7)]
    assert remainder([*parts, *small], PLAN_ID) == Remainder(entries=3, bytes=237, undelivered=107)
    whole = [part.model_copy(update={"state": "DELIVERED"}) for part in parts]
    assert remainder([*whole, *small], PLAN_ID) == Remainder(entries=2, bytes=7, undelivered=7)


def test_with_a_chunk_that_was_given_up_nothing_goes_on() -> None:
    assert remainder([chunk(0, state="DELIVERED"), chunk(1, state="FAILED")], PLAN_ID) is None
    assert remainder([chunk(0, attempt=5, failed_attempt=5, reason="stream-lost")], PLAN_ID) is None
    assert remainder([chunk(0, attempt=1, failed_attempt=1, reason="stream-lost")], PLAN_ID) == Remainder(1, 100, 100)


def test_with_items_of_another_plan_nothing_goes_on() -> None:
    assert remainder([chunk(0, state="DELIVERED")], "0" * 32) is None
