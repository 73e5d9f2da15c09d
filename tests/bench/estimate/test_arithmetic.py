"""The arithmetic behind the estimator's benchmark."""

from dataclasses import replace
from typing import Any

import pytest

from bench.estimate.arithmetic import Tariff, bill, percentile, probed, regret, relative_error

TARIFF = Tariff({"near": 0.36, "far": 0.72}, leaving_gb=0.02, call={"transitions": 0.5, "events": 0.25})


def relay(region: str, seconds: float) -> dict[str, Any]:
    return {"instanceId": f"i-{region}", "region": region, "requestedAt": 1000.25, "endedAt": 1000.25 + seconds}


def test_an_estimate_that_is_too_long_has_a_positive_error() -> None:
    assert relative_error(11, 10) == pytest.approx(0.1)
    assert relative_error(8, 10) == pytest.approx(-0.2)


@pytest.mark.parametrize(("share", "expected"), [(0.9, 9.0), (0.91, 10.0), (1.0, 10.0), (0.0, 1.0)])
def test_percentile_is_a_value_that_was_there(share: float, expected: float) -> None:
    assert percentile([float(n) for n in (3, 1, 2, 10, 9, 8, 7, 6, 5, 4)], share) == expected


def test_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        percentile([], 0.9)


def test_a_relay_is_billed_for_a_minute_at_least() -> None:
    report = {"bytes": 0, "nodes": [relay("near", 12.0), relay("far", 59.5)]}
    assert bill(report, {}, TARIFF) == pytest.approx(60 * 0.0001 + 60 * 0.0002)


def test_machines_of_the_user_are_not_billed() -> None:
    report = {"bytes": 0, "nodes": [relay("near", 60.0), relay("far", 60.0)]}
    assert bill(report, {}, TARIFF, lent=["i-far"]) == pytest.approx(60 * 0.0001)


def test_after_the_minute_begun_seconds_are_billed() -> None:
    report = {"bytes": 2_500_000_000, "nodes": [relay("near", 90.5)]}
    assert bill(report, {}, TARIFF) == pytest.approx(91 * 0.0001 + 0.05)


def test_bytes_that_leave_a_third_region_are_billed_there_too() -> None:
    tariff = replace(TARIFF, further_gb={"third": 0.08})
    ways = [
        {"regions": ["near", "far"], "share": 0.75},
        {"regions": ["near", "third", "far"], "share": 0.25},
    ]
    assert bill({"bytes": 10**9, "nodes": [], "routes": ways}, {}, tariff) == pytest.approx(0.02 + 0.25 * 0.08)


def test_all_that_left_is_billed_not_what_arrived() -> None:
    report = {"bytes": 10**9, "nodes": []}
    assert bill(report, {}, TARIFF, left_bytes=3 * 10**9) == pytest.approx(0.06)


def test_a_pre_test_sent_what_each_hop_between_regions_measured() -> None:
    pair = [{"stage": stage, "measuredInterRegionMBps": 20.0} for stage in (0, 1)]
    route = [{"stage": 2, "measuredInterRegionMBps": 5.0, "measuredHopMBps": 8.0}]
    untested = [{"stage": 0}]
    assert probed({"nodes": [*pair, *route, *untested]}, 2.0) == 56_000_000


def test_calls_are_billed_by_their_names() -> None:
    calls = {"transitions": 3, "events": 2.0}
    assert bill({"bytes": 0, "nodes": []}, calls, TARIFF) == pytest.approx(2.0)


def test_a_call_without_a_price_is_no_free_call() -> None:
    with pytest.raises(KeyError, match="queueRequests"):
        bill({"bytes": 0, "nodes": []}, {"queueRequests": 1}, TARIFF)


def test_regret_compares_medians_with_the_best() -> None:
    seconds = {0: [20.0, 30.0, 20.0], 1: [11.0, 50.0, 10.0], 2: [10.0, 9.0, 10.0]}
    assert regret(1, seconds) == pytest.approx(0.1)
    assert regret(2, seconds) == 0
