import pytest

from lambdas.core.lock import Busy, Holding, overlaps, take
from lambdas.core.transfer import RECEIVER_PORTS


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/a", "/a", True),
        ("/a/", "/a", True),
        ("/a", "/a/b", True),
        ("/a//b/.", "/a/b/c", True),
        ("/", "/anything", True),
        ("/a", "/ab", False),
        ("/a/b", "/a/c", False),
    ],
)
def test_paths_overlap_when_one_holds_the_other(one: str, other: str, expected: bool) -> None:
    assert overlaps(one, other) is expected
    assert overlaps(other, one) is expected


def test_overlap_with_another_transfer_is_busy_and_ones_own_is_not() -> None:
    mine, theirs = Holding("/a", 4601), Holding("/a/b/c", 4602)
    assert take({"mine": mine}, "/a/b", "mine") == Holding("/a/b", 4601)
    assert take({"mine": mine, "theirs": theirs}, "/a/b", "mine") == Busy("theirs")


def test_each_transfer_is_received_at_the_first_port_that_is_free() -> None:
    held = {"one": Holding("/1", 4601), "three": Holding("/3", 4603)}
    assert take(held, "/2", "two") == Holding("/2", 4602)
    assert take(held, "/3", "three") == Holding("/3", 4603)


def test_machine_whose_ports_are_all_taken_is_busy_with_nobody_in_particular() -> None:
    held = {f"t{port}": Holding(f"/{port}", port) for port in RECEIVER_PORTS}
    assert take(held, "/new", "new") == Busy(None)
    assert take(held, "/4601", "t4601") == Holding("/4601", 4601)
