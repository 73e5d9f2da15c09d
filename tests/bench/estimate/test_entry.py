"""What the estimator's benchmark is asked, and what it says of outcomes."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.estimate import __main__ as entry
from bench.estimate import cold
from bench.estimate.__main__ import Outcome
from bench.estimate.cold import Contact
from bench.estimate.scenarios import NAMED, Machine, Scenario, generated
from bench.estimate.site import RELAY_TYPE, make_files, settings
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER


def outcome(estimated: float, measured: float, first: float = 100.0) -> Outcome:
    return Outcome(NAMED[0], first, estimated, estimated_usd=0.01, measured=measured, billed_usd=0.01)


def test_unknown_scenario_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        entry.parse(["--scenarios", "two-pairs,nonsense"])
    said = capsys.readouterr().err
    assert "nonsense: no such scenario" in said
    assert "generated-8" in said


def test_generated_scenarios_can_be_named_by_seed() -> None:
    options = entry.parse(["--seed", "5", "--scenarios", "generated-3"])
    [scenario] = entry.chosen(options)
    assert scenario == generated(5, 8)[2]


def test_all_35_run_by_default_and_all_first_contacts() -> None:
    options = entry.parse([])
    assert len(entry.chosen(options)) == 35
    assert len(entry.contacts_of(options)) == 6
    assert entry.contacts_of(entry.parse(["--quick"])) == []


def test_bars_are_on_the_90th_percentile_and_the_largest_cost() -> None:
    nine, one = [outcome(10.5, 10.0)] * 9, outcome(15.0, 10.0)
    rows = {row.case: row for row in entry.summary([*nine, one])}
    assert rows["p90 of the time's error"].measured == pytest.approx(5)
    assert rows["p90 of the time's error"].holds
    assert not {row.case: row for row in entry.summary([*nine, one, one])}["p90 of the time's error"].holds


def test_where_no_transfer_met_the_limit_of_the_ends_the_stated_range_is_held_against_the_time() -> None:
    ends = Machine(20, 100)
    unmet = Scenario("unmet", 1000, 5, ends, ends, Machine(20, 200), measured_pairs=2)
    assert unmet.ends_unmet
    assert not replace(unmet, measured_pairs=4).ends_unmet
    assert not replace(unmet, pairs=3).ends_unmet

    def rows(low: float, high: float) -> dict[str, float]:
        met = outcome(first=5.0, estimated=10.0, measured=10.0)
        other = Outcome(unmet, 5.0, 7.0, estimated_usd=0.01, measured=10.0, billed_usd=0.01, low=low, high=high)
        return {one.case: one.measured for one in entry.summary([met, other])}

    key = "time within the range where nothing met the ends"
    assert rows(6.0, 12.0)["p90 of the time's error"] == 0
    assert [rows(6.0, 12.0)[key], rows(6.0, 9.0)[key], rows(11.0, 12.0)[key]] == [100, 0, 0]


def test_a_second_estimate_that_is_worse_is_counted() -> None:
    rows = {row.case: row for row in entry.summary([outcome(10.5, 10.0), outcome(10.5, 10.0, first=10.1)])}
    assert rows["second estimate closer than the first"].measured == 50
    assert not rows["second estimate closer than the first"].holds


def test_regret_of_a_recommendation_has_its_bar() -> None:
    explored = outcome(10.0, 10.0)
    explored.recommended, explored.explored = 1, {0: [20.0], 1: [12.0], 2: [10.0]}
    row = entry.summary([explored])[-1]
    assert row.measured == pytest.approx(20)
    assert not row.holds


def test_only_what_may_still_be_the_best_is_run_again() -> None:
    assert entry.contenders({0: [], 1: [], 2: []}) == [0, 1, 2]
    assert entry.contenders({0: [20.0], 1: [12.0], 2: [10.0, 30.0]}) == [1, 2]


def test_caps_go_to_the_local_cloud_by_type_and_nowhere_else(tmp_path: Path) -> None:
    unequal = next(scenario for scenario in NAMED if scenario.slower)
    caps = settings(unequal, tmp_path)["caps"]
    assert caps["byType"][RELAY_TYPE] == {"interRegionMBps": 30, "intraRegionMBps": 160}
    # Default caps would be told to the estimator as configured figures.
    assert set(caps) == {"byType", "between", "launches"}
    assert caps["between"] == {}
    assert {rule["value"] for rule in caps["launches"]} == {"source", "destination"}


def test_caps_of_links_go_to_the_local_cloud_with_all_their_regions(tmp_path: Path) -> None:
    given = settings(next(scenario for scenario in NAMED if scenario.name == "third-region"), tmp_path)
    assert given["regions"] == [HOME, OTHER, "eu-central-1"]
    assert given["caps"]["between"][f"{HOME}>eu-central-1"] == {"MBps": 25}
    LocalConfig.model_validate(given)


def test_credits_and_other_traffic_go_to_the_local_cloud(tmp_path: Path) -> None:
    cases = {one.name: one.scenario for one in cold.named(1)}
    caps = settings(cases["cold-bursting-ends"], tmp_path)["caps"]["byType"][cold.END_TYPES[0]]
    assert caps["burstMBps"] > caps["intraRegionMBps"]
    assert caps["creditMB"] > 0
    assert settings(cases["cross-traffic"], tmp_path)["caps"]["byType"][cold.END_TYPES[0]]["changes"]
    for scenario in cases.values():
        LocalConfig.model_validate(settings(scenario, tmp_path))


def test_limits_of_first_contacts_are_drawn_from_the_seed() -> None:
    assert cold.named(1) == cold.named(1)
    assert cold.named(1) != cold.named(2)


def contact(first: float, *, billed: float = 0.05) -> Contact:
    return Contact(
        cold.named(1)[0],
        low=10.0,
        high=60.0,
        first=first,
        first_pairs=4,
        estimated=50.0,
        estimated_usd=0.05,
        billed_usd=billed,
        budget_usd=0.06,
        again=40.0,
        again_estimated=40.0,
        fixed={2: 56.0, 4: 40.0},
    )


def test_first_contacts_have_bars_on_regret_and_on_the_budget() -> None:
    held = {row.case.split(": ")[-1]: row for row in cold.results([contact(43.0)])}
    assert all(row.holds for row in held.values())
    missed = {row.case.split(": ")[-1]: row for row in cold.results([contact(45.0, billed=0.07)])}
    assert missed["regret of auto"].measured == 0  # the later row of the same name, which met the best
    assert not missed["share of maxCostUsd"].holds
    assert not cold.results([contact(45.0)])[0].holds


def test_files_share_the_size(tmp_path: Path) -> None:
    make_files(tmp_path / "set", 1000, 3)
    make_files(tmp_path / "set", 1000, 4)
    assert [path.stat().st_size for path in sorted((tmp_path / "set").iterdir())] == [250] * 4
