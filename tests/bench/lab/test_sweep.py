"""GREEN's generator, its combinations, and what it recommends."""

from pathlib import Path

import pytest

from bench.lab.sweep.plan import Combination, Machine, combinations, numbers, recommended, refusal
from bench.lab.sweep.testdata import NoRoomError, Wanted, sizes, write
from bench.lab.sweep.tools import UNTRIED, Machines, missing

MIB = 1 << 20
MACHINE = Machine(1 << 30, 4 * MIB, 2 * MIB, 1 << 30, True, {"bbcp": "build it"}, ["iperf3"])


def test_files_fill_the_folder_to_the_byte_and_are_named_by_number(tmp_path: Path) -> None:
    wanted = Wanted(tmp_path / "set", directory_kib=1000, file_kib=100, dispersion_kib=10)
    written = write(wanted)
    assert sum(written) == 1000 * 1024
    assert [(tmp_path / "set" / str(n)).stat().st_size for n in range(1, len(written) + 1)] == written
    assert all(60 * 1024 < size < 140 * 1024 for size in written[:-1])


def test_the_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(Wanted(tmp_path / name, directory_kib=20, file_kib=5, dispersion_kib=1, seed=7))
    assert (tmp_path / "one" / "1").read_bytes() == (tmp_path / "two" / "1").read_bytes()
    assert list(sizes(Wanted(tmp_path, seed=7))) != list(sizes(Wanted(tmp_path, seed=8)))


def test_no_file_but_the_last_is_below_a_block(tmp_path: Path) -> None:
    found = list(sizes(Wanted(tmp_path, directory_kib=1000, file_kib=2, dispersion_kib=50)))
    assert min(found[:-1]) == 1024


def test_too_little_space_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(NoRoomError, match="--dirsize is 1125899906842624 KiB"):
        write(Wanted(tmp_path / "set", directory_kib=1 << 50))
    assert not (tmp_path / "set").exists()


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        write(Wanted(tmp_path))


def test_a_sample_is_repeated(tmp_path: Path) -> None:
    sample = tmp_path / "sample"
    sample.write_bytes(b"abc")
    write(Wanted(tmp_path / "set", directory_kib=1, file_kib=1, dispersion_kib=0, sample=sample))
    assert (tmp_path / "set" / "1").read_bytes() == (b"abc" * 400)[:1024]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (Combination("bbcp", 1, MIB), "not installed (build it)"),
        (Combination("iperf3", 1, 3 * MIB), "window is 3145728; the kernel allows 2097152"),
        (Combination("cpt", 512, MIB), "windows need 1073741824 bytes"),
        (Combination("cpt", 1, 3 * MIB), "nothing"),
    ],
)
def test_what_cannot_run_is_named_before_the_first_run(one: Combination, why: str) -> None:
    assert why in (refusal(one, MACHINE, 1000) or "nothing")


def test_ranges_are_read_as_lists_and_as_bounds() -> None:
    assert numbers("1,2,4") == [1, 2, 4]
    assert numbers("1:10") == list(range(1, 11))
    assert numbers("131072:524288") == [131072, 262144, 524288]
    with pytest.raises(ValueError, match="'1,x' is no list"):
        numbers("1,x")


def test_the_least_of_what_is_within_five_per_cent_of_the_best_is_recommended() -> None:
    rates = {
        Combination("a", 1, MIB): 90.0,
        Combination("a", 2, MIB): 96.0,
        Combination("a", 8, MIB): 100.0,
        Combination("b", 1, 1): 500.0,
    }
    assert recommended(rates, "a") == Combination("a", 2, MIB)
    assert len(combinations(["a", "b"], [1, 2], [1, 2, 3])) == 12


def test_tools_that_nobody_has_tried_are_left_out_before_the_first_run() -> None:
    machines = Machines([], [], "127.0.0.1", Path(), sets_buffers=True)
    assert missing(UNTRIED, machines) == dict.fromkeys(UNTRIED, "nobody has tried it with this sweep")
