"""Whole tables of the estimator's benchmark: what is run, what their bars are, and what they say of outcomes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.estimate import __main__ as entry
from bench.estimate import tables
from bench.estimate.scenarios import Dip
from bench.estimate.site import RELAY_TYPE, settings
from bench.estimate.tables import PAIRS, Ran, Table, Tried
from bench.estimate.tariff import tariff
from bench.results import Result
from local.config import LocalConfig
from local.patches.ec2.instance_types import instance_types
from tests.e2e.account import HOME, OTHER

NAMED = {table.name: table for table in tables.named(3)}


def ran(pairs: int, measured: float, **changes: Any) -> Ran:
    return replace(Ran(pairs, measured, 10.0, 9.0, 11.0, billed_usd=0.05, budget_usd=0.06), **changes)


def tried(first: float, again: float, table: Table | None = None, **rows: float) -> dict[str, Result]:
    """Rows by the words after the colon; the best takes 10 s, looking and booting 6 s together."""
    measured = {0: 60.0, 1: 30.0, 2: 20.0, 4: 12.0, 8: 10.0}
    every = [ran(p, s, low=s - 1, high=s + rows.get("above", 1)) for p, s in measured.items()]
    chosen = ran(round(rows.get("chosen", 8)), again)
    one = Tried(table or NAMED["small-transfer-first"], ran(8, first), 2.0, 4.0, every, chosen)
    return {row.case.split(": ")[-1]: row for row in tables.results([one])}


def test_every_table_is_run_by_default_and_can_be_named() -> None:
    assert [table.name for table in entry.tables_of(entry.parse(["--seed", "3"]))] == list(NAMED)
    [one] = entry.tables_of(entry.parse(["--scenarios", "network-that-dips", "--seed", "3"]))
    assert one.scenario.dip == Dip(8, 20, 0.2)
    assert entry.tables_of(entry.parse(["--quick"])) == []


def test_caps_are_drawn_from_the_seed() -> None:
    rates = {seed: tables.named(seed)[0].scenario.relay.inter for seed in range(7)}
    assert len(set(rates.values())) == 7
    assert rates[3] == 6
    assert tables.named(1) == tables.named(1)


@pytest.mark.parametrize("table", NAMED.values(), ids=lambda table: table.name)
def test_the_local_cloud_takes_the_settings_of_a_table(table: Table, tmp_path: Path) -> None:
    config = LocalConfig.model_validate(settings(table.scenario, tmp_path))
    dips = table.scenario.dip is not None
    assert set(config.caps.between) == ({f"{HOME}>{OTHER}", f"{OTHER}>{HOME}"} if dips else set())
    # The dip begins with a transfer's first byte, and not with its machines.
    assert not any(cap.changes for cap in config.caps.between.values())
    refused = [(fault.region, fault.instance_type) for fault in config.faults]
    assert refused == ([(HOME, RELAY_TYPE), (OTHER, RELAY_TYPE)] if table.scenario.second_type else [])


def test_ends_that_do_not_burst_are_such_types() -> None:
    for name in NAMED["ends-that-do-not-burst"].scenario.end_types:
        card = instance_types()[name]["NetworkInfo"]["NetworkCards"][0]
        assert card["BaselineBandwidthInGbps"] == card["PeakBandwidthInGbps"] == 25
    (first, second) = (NAMED[name].scenario.end_types[0] for name in ("network-that-dips", "small-transfer-first"))
    assert first == second == "t3.small"


def test_relays_of_a_second_type_are_billed_at_its_price() -> None:
    charges = tariff(RELAY_TYPE, others=["m6in.large"])
    first, second = (charges.hour({"instanceType": kind, "region": HOME}) for kind in (RELAY_TYPE, "m6in.large"))
    assert second - first == pytest.approx(0.13923 - 0.1134)


def test_what_not_knowing_costs_at_first_is_looking_and_booting_or_a_tenth_of_a_long_transfer() -> None:
    assert tried(15.9, 10.0)["first later than the best"].holds
    assert not tried(16.1, 10.0)["first later than the best"].holds
    long = Tried(NAMED["small-transfer-first"], ran(8, 66.0), 2.0, 4.0, [ran(8, 60.0)])
    assert long.late_at_most == pytest.approx(6.0)
    assert replace(long, spawn=4.1).late_at_most == pytest.approx(6.1)
    assert replace(long, looking=0.0).late_at_most == pytest.approx(6.0)
    both = tried(30.0, 10.0, NAMED["two-transfers-at-once"])["first later than the best"]
    assert (both.bar, both.measured) == (None, 20.0)


def test_rows_and_budgets_and_later_choices_have_their_bars() -> None:
    held = tried(12.0, 10.8)
    assert all(row.holds for row in held.values())
    assert held["rows within their range"].bar == len(PAIRS)
    missed = tried(12.0, 12.0, above=-0.1, chosen=4)
    assert not missed["rows within their range"].holds
    assert missed["regret of auto later"].measured == pytest.approx(20)
    assert not missed["regret of auto later"].holds
    assert not tables.results([Tried(NAMED["small-transfer-first"], ran(8, 10, billed_usd=0.07), 0, 4, [ran(8, 10)])])[
        -1
    ].holds
