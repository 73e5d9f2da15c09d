"""What file systems of AWS's bear and charge: by their mode, as a range where that is not known."""

from dataclasses import replace

import pytest

from lambdas.core.estimate.data_time import limit_through, seconds_for
from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.estimate.file_system_charges import Load, Side
from lambdas.core.estimate.file_systems import Mounted, unknown, with_file_systems
from lambdas.core.estimate.rows import build_row
from lambdas.core.survey.served import Served, Told
from tests.lambdas.builders import figures

MIB = 1.048576
GB, TIB = 10**9, 2**40
EFS = Served("EFS", "fs-0123456789abcdef0", "us-east-1")
IRISH = replace(EFS, region="eu-west-1")
PROXY = replace(EFS, file_system_id="")
FSX = Served("FSx", "fs-0fedcba9876543210", "us-east-1")
ELASTIC = Told("elastic")
# Of files so large that what comes with each of them is nothing.
LARGE = Load(1000 * GB, 1)


def on(side: Side, served: Served = EFS, told: Told | None = None, machines: int = 1) -> Mounted:
    return Mounted(side, ((served, told),), machines=machines)


def found(*mounted: Mounted, load: Load = LARGE) -> Figures:
    """Of ends that move 160 MB/s but for their file systems."""
    of_ends = with_file_systems(figures(), list(mounted), load)
    assert isinstance(of_ends, Figures)
    return of_ends


def bounds(figure: Figure | None) -> tuple[float, float, float]:
    """Least, expected and greatest, MiB/s."""
    assert figure is not None
    return round(figure.least / MIB, 3), round(figure.value / MIB, 3), round(figure.greatest / MIB, 3)


def charged(*mounted: Mounted, load: Load = LARGE) -> tuple[float, float]:
    """Dollars for a TB of 10^12 bytes, least and most."""
    figure = found(*mounted, load=load).file_systems
    return (round(1000 * figure.least, 3), round(1000 * figure.greatest, 3)) if figure else (0.0, 0.0)


def test_of_an_unknown_mode_the_most_is_counted_and_it_may_be_nothing() -> None:
    assert charged(on("source")) == (0.0, 60.0)
    assert charged(on("destination", PROXY)) == (0.0, 60.0)
    assert unknown([on("source"), on("destination", PROXY), on("source", FSX, Told("capacity", 1.0))]) == [
        "EFS fs-0123456789abcdef0, EFS behind 127.0.0.1: its mode and limits are not known; the setting "
        "readFileSystems lets them be read"
    ]


def test_each_machine_carries_what_a_client_may() -> None:
    assert bounds(found(on("source", EFS, Told("bursting"))).source_mount) == (500, 500, 500)
    assert bounds(found(on("source", EFS, ELASTIC)).source_mount) == (500, 500, 1500)
    assert bounds(found(on("source", PROXY, ELASTIC)).source_mount) == (500, 1500, 1500)
    assert bounds(found(on("source", EFS, replace(ELASTIC, one_zone=True))).source_mount) == (500, 500, 500)
    assert bounds(found(on("destination", EFS, None, 4)).destination_mount) == (2000, 2000, 6000)
    assert found(on("source", FSX, Told("capacity", 500.0))).source_mount is None


def test_elastic_bears_what_the_region_lets_it_and_less_is_written_than_read() -> None:
    both = found(on("source", EFS, ELASTIC), on("destination", EFS, ELASTIC))
    assert bounds(both.source_file_system) == (20 * 1024, 20 * 1024, 60 * 1024)
    assert bounds(both.destination_file_system) == (1024, 1024, 5 * 1024)


def test_provisioned_bears_what_was_provisioned_and_three_times_as_much_of_reads() -> None:
    told = Told("provisioned", 100 * MIB, standard_bytes=TIB)
    both = found(on("source", EFS, told), on("destination", EFS, told))
    assert bounds(both.source_file_system) == (300, 300, 300)
    assert bounds(both.destination_file_system) == (100, 100, 100)
    # The baseline of 4 TiB, 200 MiB/s, is more.
    large = found(on("destination", EFS, replace(told, standard_bytes=4 * TIB)))
    assert bounds(large.destination_file_system) == (200, 200, 200)


def test_bursting_falls_to_its_baseline_once_its_credit_is_used_up_and_may_have_none() -> None:
    told = Told("bursting", standard_bytes=TIB // 2)
    read, written = found(on("source", EFS, told)), found(on("destination", EFS, told))
    assert bounds(read.source_file_system) == (75, 75, 75)
    assert bounds(written.destination_file_system) == (25, 25, 25)
    assert written.destination_file_system is not None
    burst = written.destination_file_system.burst
    assert burst is not None
    assert bounds(burst.rate) == (25, 100, 100)
    assert (burst.credit.least, round(burst.credit.value / MIB / 1024 / 1024, 3)) == (0, 2.1)
    assert bounds(found(on("destination", EFS, Told("bursting"))).destination_file_system) == (1, 1, 1)


def test_of_an_unknown_mode_a_range_is_told_whose_least_is_the_baseline_of_what_is_known_to_be_stored() -> None:
    written = found(on("destination")).destination_file_system
    assert bounds(written) == (1, 100, 5 * 1024)
    read = found(on("source"), load=Load(TIB, 1)).source_file_system
    assert bounds(read) == (150, 300, 60 * 1024)


def test_fsx_bears_its_throughput_capacity_and_its_cache_reads_faster() -> None:
    told = Told("capacity", 320.0)
    assert bounds(found(on("source", FSX, told)).source_file_system)[2] == round(960 / MIB, 3)
    written = found(on("destination", FSX, told)).destination_file_system
    assert written is not None
    assert (written.value, written.greatest) == (320.0, 320.0)
    assert found(on("destination", FSX)).destination_file_system is None


def test_a_row_says_which_of_them_limits_it() -> None:
    def limit(known: Figures) -> str:
        return limit_through(10 * GB, seconds_for(10 * GB, 0, known), [], known)

    fast = figures(source=9000.0, destination=9000.0, direct=9000.0)

    def with_told(told: Told, machines: int) -> Figures:
        known = with_file_systems(fast, [on("destination", EFS, told, machines)], LARGE)
        assert isinstance(known, Figures)
        return known.model_copy(update={"machines": [1, machines]})

    assert limit(with_told(ELASTIC, 1)) == "the mount of the destination's file system carries at most 524.3 MB/s"
    assert limit(with_told(ELASTIC, 4)) == "the file system of the 4 destination machines takes at most 1073.7 MB/s"
    burst = limit(with_told(Told("bursting", standard_bytes=TIB // 2), 1))
    assert burst == "the destination's file system takes at most 104.9 MB/s"
    slow = with_told(Told("provisioned", 50 * MIB), 1)
    assert limit(slow) == "the destination's file system takes at most 52.4 MB/s"


def test_a_row_pays_for_what_arrives_and_what_is_sent_again() -> None:
    free, paid = figures(repeated=0.01), found(on("source", EFS, ELASTIC))
    paid = paid.model_copy(update={"repeated": free.repeated})
    rows = [build_row(100 * GB, 1, known) for known in (free, paid)]
    assert rows[1].cost_usd - rows[0].cost_usd == pytest.approx(100 * 0.03 * 1.01)
    assert rows[1].most_usd - rows[0].most_usd == pytest.approx(100 * 0.03 * 1.01)


def test_where_only_some_of_an_ends_paths_are_on_it_it_may_charge_and_is_no_limit() -> None:
    partly = Mounted("source", ((EFS, ELASTIC),), is_whole=False)
    assert charged(partly) == (0.0, 30.0)
    assert (found(partly).source_mount, found(partly).source_file_system) == (None, None)
    two = Mounted("source", ((EFS, ELASTIC), (FSX, None)))
    assert charged(two) == (0.0, 30.0)
    assert found(two).source_mount is None


def test_ends_on_other_disks_have_no_such_figures() -> None:
    assert found(Mounted("source", ()), Mounted("destination", ())) == figures()
