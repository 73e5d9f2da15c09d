"""Disks, processors and small files hold ends back as networks do."""

import pytest

from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.end_limits import with_disks, with_files, with_processors
from lambdas.core.estimate.figures import EndFigures, Figures
from lambdas.core.estimate.history import History
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.rows import build_rows
from lambdas.core.tariff.instance_types import TypeFacts
from tests.lambdas.builders import figures


def facts(name: str = "m5.large", vcpus: int = 2, disk: float = 81.25, peak: float = 593.75) -> TypeFacts:
    return TypeFacts(name, vcpus, "x86_64", 10.0, 10.0, disk, peak, name.startswith("t"), frozenset())


FAST = figures(source=1250.0, destination=1250.0, direct=500.0)


def fast_with(ends: EndFigures) -> Figures:
    names = ("source_disk", "destination_disk", "source_processor", "destination_processor", "files")
    return FAST.model_copy(update={name: getattr(ends, name) for name in names})


def test_a_million_files_of_a_kibibyte_are_no_gigabyte() -> None:
    files, size = 10**6, 1024 * 10**6
    row = build_rows(size, 0, fast_with(with_files(FAST, files, size, None)))[0]
    assert seconds_for(size, 0, FAST) == pytest.approx(size / 500e6)
    # 10 000 a second expected, 1 000 to 34 200 possible.
    assert row.seconds == pytest.approx(100.0)
    assert row.bounds[0] == pytest.approx(10**6 / 34_200, abs=0.001)
    assert row.bounds[1] == pytest.approx(1_000.0)
    assert row.limit == "files as small as these go at most at 10.2 MB/s"


def test_files_that_two_machines_have_moved_are_counted_at_their_own_pace() -> None:
    known = Profile({"files": History(25_000.0, 25_000.0**2, 5, 0.0)})
    found = with_files(FAST, 10**6, 1024 * 10**6, known).files
    assert found
    assert found.value == pytest.approx(25.6)
    assert found.origin == "measured"
    assert found.note.startswith("1,000,000 files of 1.02 kB, 25,000 a second")


def test_large_files_cost_nothing_each() -> None:
    assert with_files(FAST, 1_000, 10**9, None).files is None
    assert with_files(FAST, 0, 0, None).files is None


def test_the_surveys_disk_trial_is_a_burst_of_what_ebs_lets_last() -> None:
    ends = with_disks(FAST, 250.0, None, (facts(), None))
    disk = ends.source_disk
    assert disk
    assert disk.burst
    assert (disk.value, disk.now) == (81.25, 250.0)
    assert disk.burst.credit.value == pytest.approx((250 - 81.25) * 1800)
    # 100 GB go at 250 MB/s, of 1 TB half an hour's 450 GB do, and the rest at what lasts.
    assert seconds_for(10**11, 0, fast_with(ends)) == pytest.approx(400.0)
    assert seconds_for(10**12, 0, fast_with(ends)) == pytest.approx(1800 + 550_000 / 81.25)
    (row,) = build_rows(10**12, 0, fast_with(ends))
    assert row.limit == "the source's disk reads at most 250.0 MB/s, 81.2 once credits are used up"
    assert row.bounds[1] == pytest.approx(10**6 / 81.25, abs=1)


def test_a_volume_may_be_out_of_credit_and_a_disk_of_the_machine_is_not() -> None:
    volume = with_disks(FAST, None, 60.0, (None, facts())).destination_disk
    assert volume
    assert (volume.value, volume.least, volume.burst) == (60.0, 25.0, None)
    own = with_disks(FAST, None, 900.0, (None, facts())).destination_disk
    assert own
    assert (own.value, own.least, own.burst) == (900.0, 900.0, None)
    unknown = with_disks(FAST, 60.0, None).source_disk
    assert unknown
    assert (unknown.value, unknown.least) == (60.0, 60.0)


def test_processors_hold_an_end_back_that_its_network_does_not() -> None:
    wide = figures(source=3125.0, destination=3125.0, direct=3125.0)
    ends = with_processors(wide, (facts(vcpus=2), None))
    assert ends.source_processor
    assert (ends.source_processor.value, ends.source_processor.origin) == (1200.0, "assumed")
    assert ends.destination_processor is None
    by_checksum = with_processors(wide, (facts(vcpus=2), None), checksum=True).source_processor
    assert by_checksum
    assert (by_checksum.value, by_checksum.least) == pytest.approx((1440.0, 720.0))
    assert "by checksum" in by_checksum.note
    used = wide.model_copy(update={"source_processor": ends.source_processor})
    assert build_rows(10**12, 0, used)[0].limit == "the source's processors hash and encrypt at most 1200.0 MB/s"


def test_a_t2_falls_to_its_share_and_a_t3_does_not() -> None:
    small = with_processors(FAST, (facts("t2.small", 1), facts("t3.small", 2)))
    assert small.source_processor
    assert small.source_processor.burst
    assert (small.source_processor.value, small.source_processor.now) == (120.0, 600.0)
    # 30 credits of a vCPU-minute at launch, 288 after a day: at 300 and at 1 200 MB/s.
    assert small.source_processor.burst.credit.least == 30 * 60 * 300
    assert small.source_processor.burst.credit.greatest == pytest.approx(288 * 60 * 1200)
    assert small.destination_processor
    assert small.destination_processor.burst is None


def test_a_disk_that_reads_again_all_that_it_wrote_takes_half_as_much() -> None:
    plain, again = (with_disks(FAST, 250.0, 250.0, (facts(), facts()), readback=read) for read in (False, True))
    assert plain.source_disk == again.source_disk
    disk = again.destination_disk
    assert disk
    assert disk.burst
    assert (disk.value, disk.now) == (81.25 / 2, 125.0)
    assert disk.burst.credit.value == pytest.approx((250 - 81.25) * 1800 / 2)
    assert disk.note.startswith("half of it, since all is read again")
