"""Months before something ends that the project rests on, a test fails: runtimes, systems, engines, recorded prices.

Runtimes of Lambda end when cfn-lint's data says so, prices a year after they were recorded, the rest as in
`local/facts.toml`.
"""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import distribution
from pathlib import Path

import pytest

from lambdas.core.tariff import fallback_prices
from local.cloud import ASSEMBLY
from local.deploy import runtimes_of
from local.facts import facts
from local.patches.market import list_prices
from tests.paths import ROOT

# Time for an issue, a change and its deployment.
NOTICE = timedelta(days=180)
PRICES_LAST = timedelta(days=365)
# To import cfn-lint takes two seconds, of each process that collects this file.
LIFECYCLE = Path(str(distribution("cfn-lint").locate_file("cfnlint/data/AdditionalSpecs/LmbdRuntimeLifecycle.json")))
ENDS = facts()["ends"]


def ends() -> Iterator[tuple[str, date]]:
    """What ends, and when; for what may be used beyond its end the day until which it may."""
    lifecycle = json.loads(LIFECYCLE.read_text())
    for runtime in sorted(runtimes_of(ASSEMBLY)):
        yield runtime, date.fromisoformat(lifecycle[runtime]["deprecated"])
    for name, entry in ENDS.items():
        yield name, entry.get("accepted", {}).get("until", entry["day"])
    yield "fallback prices", datetime.fromtimestamp(fallback_prices.AS_OF, UTC).date() + PRICES_LAST
    yield "prices of the local cloud", list_prices.RECORDED + PRICES_LAST


def overdue(today: date) -> list[str]:
    """What ends within the notice, or has ended."""
    return [f"{name} ends on {day}" for name, day in ends() if day - today < NOTICE]


def test_nothing_ends_within_the_next_180_days() -> None:
    assert overdue(datetime.now(UTC).date()) == []


@pytest.mark.parametrize(("name", "day"), list(ends()))
def test_each_would_be_told_of_180_days_before_and_not_earlier(name: str, day: date) -> None:
    told = f"{name} ends on {day}"
    assert told not in overdue(day - NOTICE)
    assert told in overdue(day - NOTICE + timedelta(days=1))
    assert told in overdue(day + timedelta(days=1))


def test_every_kind_is_among_them() -> None:
    assert {name.split("-")[0] for name, _ in ends()} >= {
        "python3.13",
        "amazon",
        "debian",
        "node",
        "aws",
        "fallback prices",
    }


def test_the_runtime_has_more_than_two_years_from_the_day_on_which_it_was_chosen() -> None:
    days = dict(ends())
    for runtime in runtimes_of(ASSEMBLY):
        assert days[runtime] - date(2026, 11, 24) > timedelta(days=730)


@pytest.mark.parametrize(("name", "file", "words"), [(name, *at) for name, one in ENDS.items() for at in one["named"]])
def test_what_ends_is_what_the_project_names(name: str, file: str, words: str) -> None:
    assert words in (ROOT / file).read_text()


def test_who_uses_what_has_ended_says_why() -> None:
    for entry in ENDS.values():
        if accepted := entry.get("accepted"):
            assert accepted["why"]
            assert entry["day"] < accepted["until"]


def test_pages_name_the_day_of_the_prices_that_the_code_has() -> None:
    day = datetime.fromtimestamp(fallback_prices.AS_OF, UTC).date()
    assert f"a table of {day}" in (ROOT / "docs/cost.md").read_text()
