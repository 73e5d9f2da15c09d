"""Equation 5.1 beside measured copies: v_x and v_m are those of the first, and pairs are launched where they pay."""

import pytest

from bench.hdfs.staged_forecast import forecasts, launched
from bench.hdfs.staged_job import Rates, Step
from bench.hdfs.staged_run import Measured, Span

RATES = Rates(inter_mb_s=10.0, intra_mb_s=50.0, boot_seconds=5.0)


def measured(megabytes: int, *seconds: float, tar: bool = False) -> Measured:
    steps: tuple[Step, ...] = (
        ("export", "bundle", "transfer", "unbundle", "import") if tar else ("export", "transfer", "import")
    )
    spans, begin = [], 0.0
    for step, taken in zip(steps, seconds, strict=True):
        spans.append(Span(step, begin, begin + taken))
        begin += taken
    return Measured(tuple(spans), megabytes * 10**6, 2, "tar" if tar else "never", {})


def test_tar_belongs_to_export_and_import() -> None:
    stages = measured(100, 4.0, 1.0, 9.0, 2.0, 6.0, tar=True).stages
    assert (stages.export_seconds, stages.transfer_seconds, stages.import_seconds) == (5.0, 9.0, 8.0)
    assert stages.seconds == 22.0


def test_rates_of_the_first_copy_predict_the_second() -> None:
    found = forecasts({2: measured(100, 5.0, 9.0, 10.0), 12: measured(600, 1.0, 1.0, 1.0)}, RATES, {2: 0, 12: 0})
    later = found[12]
    assert (later.zero_wait.export_seconds, later.zero_wait.import_seconds) == (30.0, 60.0)
    # 12 s to the workers and from them, 600 MB by two pairs of 10 MB/s between the regions.
    assert later.store_and_forward.transfer_seconds == pytest.approx(12 + 30 + 12)
    # The name nodes' own path carries 10 MB/s too.
    assert later.zero_wait.transfer_seconds == pytest.approx(20.0)


def test_pairs_that_boot_during_the_export_shorten_the_transfer() -> None:
    runs = {12: measured(600, 30.0, 1.0, 60.0)}
    alone, more = (forecasts(runs, RATES, {12: pairs})[12] for pairs in (0, 2))
    assert more.zero_wait.transfer_seconds == pytest.approx(12.0)
    assert alone.zero_wait.transfer_seconds == pytest.approx(20.0)
    assert more.store_and_forward.transfer_seconds == pytest.approx(5 + 24 + 600 / 40)


@pytest.mark.parametrize(("megabytes", "pairs"), [(100, 0), (150, 0), (151, 2), (6000, 2)])
def test_pairs_are_launched_where_the_forecast_with_them_is_shorter(megabytes: int, pairs: int) -> None:
    # Three paths of 10 MB/s have moved 150 MB when the first pair could serve.
    assert launched(RATES, megabytes * 10**6, 2) == pairs
    assert launched(RATES, megabytes * 10**6, 0) == 0
