import pytest
from hypothesis import given
from hypothesis import strategies as some

from lambdas.core.intake.destination_lock import Busy, Holding, Way, lead_together, overlaps, take
from lambdas.core.transfer.accepted import RECEIVER_PORTS


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


# /data is directory 1:3, and /link leads to it.
DATA = (Way(("1:2", "1:3"), ("data",)),)


def test_one_directory_is_busy_under_another_name() -> None:
    held = {"theirs": Holding("/data", 4601, DATA)}
    assert take(held, "/link/inner", "mine", (Way(("1:2", "1:3"), ("data", "inner")),)) == Busy("theirs")
    assert take(held, "/other", "mine", (Way(("1:2", "1:4"), ("other",)),)) == Holding(
        "/other", 4602, (Way(("1:2", "1:4"), ("other",)),)
    )


def test_directory_that_the_other_has_made_meanwhile_is_known_by_its_name() -> None:
    before = Way(("1:2",), ("new", "a"))
    after = Way(("1:2", "1:7", "1:8", "1:9"), ("new", "a", "b"))
    beside = Way(("1:2", "1:7"), ("new", "b"))
    assert lead_together([before], [after])
    assert not lead_together([before], [beside])


def test_bind_mount_is_known_by_its_second_way() -> None:
    mounted = (Way(("1:2", "1:5", "1:4"), ("mnt", "bind")), Way(("1:2", "1:3", "1:4"), ("data", "inner")))
    assert lead_together(DATA, mounted)


def test_ways_stay_where_the_lock_is_taken_again_without_them() -> None:
    held = {"mine": Holding("/data", 4601, DATA)}
    assert take(held, "/data", "mine") == held["mine"]


ids = some.lists(some.sampled_from(["1:1", "1:2", "1:3", "1:4"]), min_size=1, max_size=4).map(tuple)
tails = some.lists(some.sampled_from(["a", "b"]), max_size=3).map(tuple)


@some.composite
def way_lists(draw: some.DrawFn) -> tuple[Way, ...]:
    def one() -> Way:
        directories = draw(ids)
        leading = tuple(draw(some.sampled_from(["a", "b"])) for _ in directories[1:])
        return Way(directories, leading + draw(tails))

    return tuple(one() for _ in range(draw(some.integers(1, 3))))


@given(way_lists(), way_lists())
def test_overlap_is_symmetrical_and_everything_overlaps_itself(one: tuple[Way, ...], other: tuple[Way, ...]) -> None:
    assert lead_together(one, other) is lead_together(other, one)
    assert lead_together(one, one)
