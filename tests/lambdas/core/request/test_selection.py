"""What a request may say of what is moved, and what the daemon is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from lambdas.core.request.problems import describe
from lambdas.core.request.selection import Selection

DAY = 86_400 * 1_000_000_000


def selection(**keys: Any) -> Selection:
    return Selection.from_document(keys)


def test_without_rules_the_daemon_is_told_nothing() -> None:
    assert selection().command(1e9) == {}


def test_ages_count_from_the_executions_start_and_times_are_exact() -> None:
    told = selection(modifiedAfter="30d", modifiedBefore="2001-09-09T03:46:40.000001+02:00").command(1_000_000_000.0)
    assert told == {
        "modifiedFromNs": 1_000_000_000 * 1_000_000_000 - 30 * DAY,
        "modifiedUntilNs": 1_000_000_000 * 1_000_000_000 + 1_000,
    }


def test_zero_is_a_limit() -> None:
    assert selection(maxSizeBytes=0).command(0.0) == {"maxSizeBytes": 0}


@pytest.mark.parametrize("value", ["2026-11-21", "2026-11-21T08:00:00", "yesterday", "0d", "3y", "-3d", ""])
def test_a_moment_without_zone_or_unit_is_refused_with_what_would_be_right(value: str) -> None:
    with pytest.raises(ValidationError) as refused:
        selection(modifiedAfter=value)
    (line,) = describe(refused.value)
    assert line.startswith(f'$.modifiedAfter: "{value}" is not valid; write a time with its zone, e.g. 2026-')


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ({"minSizeBytes": 2, "maxSizeBytes": 1}, "$.select.minSizeBytes: 2 "),
        ({"modifiedAfter": "1d", "modifiedBefore": "2d"}, "$.select.modifiedAfter: '1d' "),
        ({"modifiedAfter": "2d", "modifiedBefore": "2d"}, "$.select.modifiedAfter: '2d' "),
    ],
)
def test_limits_that_select_nothing_are_problems(keys: dict[str, Any], field: str) -> None:
    (problem,) = selection(**keys).problems
    assert problem.startswith(field)


def test_limits_that_select_something_are_none() -> None:
    assert selection(minSizeBytes=1, maxSizeBytes=1, modifiedAfter="2d", modifiedBefore="1d").problems == []


@pytest.mark.parametrize("rule", ["", "a\nb", "a\rb", "a\0b", "x" * 1_001])
def test_a_rule_is_one_line(rule: str) -> None:
    with pytest.raises(ValidationError):
        selection(exclude=[rule])
