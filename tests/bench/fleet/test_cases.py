"""What the cases are asked and what they say of runs."""

from pathlib import Path

import pytest

from bench.fleet import __main__ as entry
from bench.fleet import mesh, pre_test, zero_wait
from bench.fleet.draws import Fleet
from bench.fleet.kill import BAR, Killed, summary
from bench.fleet.moments import Moment
from bench.fleet.site import CaseError, Machines
from bench.fleet.zero_wait import PAIRS, Phases, overhead, ratio
from bench.results import Result, measured
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER


def killed(ratio: float, *, identical: bool = True, in_time: bool = True) -> Killed:
    return Killed(Moment(0, changes=3), "source-1-0", identical, in_time, ratio, replaced=True)


def test_unknown_case_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        entry.parse(["--cases", "kill,nonsense"])
    said = capsys.readouterr().err
    assert "nonsense: no such case" in said
    assert "zero-wait" in said


def test_a_case_that_fails_is_a_missed_bar_with_its_reason() -> None:
    def fails() -> list[Result]:
        raise CaseError("fleet-3: 1 of 2 pairs joined")

    [row] = measured("kill", fails, entry.FAILURES)
    assert not row.holds
    assert "1 of 2 pairs joined" in row.note


def test_each_transfer_has_its_own_relays_and_only_the_emulator_knows(tmp_path: Path) -> None:
    machines = Machines(pre_test.ENDS, pre_test.RELAY, fleets=(Fleet("a", (0.5, 1), (0.25, 0.75)),))
    caps = LocalConfig.model_validate(machines.settings(tmp_path)).caps
    assert [(rule.value, rule.region, rule.factor) for rule in caps.launches] == [
        ("a", HOME, [0.5, 1]),
        ("a", OTHER, [0.25, 0.75]),
    ]
    assert caps.inter_region_mb_s is None  # default caps would be told to the estimator as configured figures


def test_fleets_of_the_pre_test_have_four_or_six_pairs() -> None:
    fleets = pre_test.draw(5, 20)
    assert fleets == pre_test.draw(5, 20)
    assert {len(one.pairs) for one in fleets} == {4, 6}


def test_sides_of_the_mesh_differ_and_its_bound_is_the_smaller_one() -> None:
    fleets = mesh.draw(5, 2)
    assert [(len(one.sources), len(one.destinations)) for one in fleets] == [(2, 3), (3, 2)]
    assert mesh.bound(Fleet("a", (1, 0.5), (0.25, 0.25, 0.5))) == mesh.PAYLOAD * mesh.RELAY.inter


def test_measured_rates_are_compared_with_the_true_ones() -> None:
    nodes = [{"slot": 1, "measuredInterRegionMBps": 9.0}, {"slot": 2, "measuredInterRegionMBps": 21.0}]
    assert pre_test.deviations({"nodes": nodes}, {1: 10.0, 2: 20.0}) == pytest.approx([0.1, 0.05])


def test_one_transfer_that_differs_misses_the_bar() -> None:
    identical, _ = summary([killed(1.0), killed(1.0, identical=False)])
    assert (identical.measured, identical.holds) == (1, False)


def test_a_relay_that_was_gone_before_it_was_killed_proves_nothing() -> None:
    identical, _ = summary([killed(1.0), killed(1.0, in_time=False)])
    assert (identical.measured, identical.holds) == (1, False)
    assert "killed too late: 1" in identical.note


def test_the_worst_moment_counts_and_is_named() -> None:
    _, worst = summary([killed(1.01), killed(BAR + 0.1), killed(1.02)])
    assert worst.measured == pytest.approx(BAR + 0.1)
    assert not worst.holds
    assert "source-1-0 at change 3" in worst.note


def test_medians_of_data_times_are_compared() -> None:
    alone = [Phases(1, second, 1) for second in (10, 11, 30)]
    helped = [Phases(1, second, 1) for second in (5, 5.5, 30)]
    row = ratio(500, alone, helped)
    assert row.measured == pytest.approx(0.5)
    assert row.holds
    assert not ratio(500, helped, alone).holds


def test_overhead_is_told_for_both_and_has_no_bar() -> None:
    rows = overhead({(10, 0): [Phases(1, 9, 2)], (10, PAIRS): [Phases(3, 9, 4), Phases(3, 9, 4)]})
    assert [row.measured for row in rows] == [1, 2, 3, 4]
    assert all(row.bar is None for row in rows)


def test_short_transfers_run_more_often() -> None:
    assert [zero_wait.runs(size, quick=False) for size in (10, 2000)] == [9, 3]
    assert zero_wait.runs(10, quick=True) == 1
