"""What the doctor says of schedules that start transfers; tests/e2e has it against a deployment."""

from typing import Any

import pytest

from cli.doctor.schedules import judge
from lambdas.adapters.start_schedules import FoundSchedule, Origin

REQUEST: dict[str, Any] = {}


def schedule(name: str, origin: Origin, state: str = "ENABLED") -> FoundSchedule:
    request = None if origin == "foreign" else REQUEST
    return FoundSchedule(name, origin, "rate(1 day)", "UTC", state, "arn:of-a-function", request)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([], [("schedules", "ok", "no schedule starts transfers")]),
        (
            [schedule("weekly", "deployed"), schedule("nightly", "added", "DISABLED")],
            [
                ("weekly", "ok", "deployed: rate(1 day) in UTC, enabled"),
                ("nightly", "ok", "added: rate(1 day) in UTC, disabled"),
            ],
        ),
        ([schedule("odd", "foreign")], [("odd", "warning", "does not start transfers: arn:of-a-function")]),
        (
            [schedule("nightly", "deployed"), schedule("nightly", "added")],
            [("nightly", "ok", "deployed"), ("nightly", "warning", "both start transfers")],
        ),
    ],
)
def test_each_schedule_is_named_with_where_it_comes_from(
    found: list[FoundSchedule], says: list[tuple[str, str, str]]
) -> None:
    findings = list(judge(found))
    assert [(one.about, one.status) for one in findings] == [(about, status) for about, status, _ in says]
    for finding, (_, _, words) in zip(findings, says, strict=True):
        assert words in finding.message
        if finding.status != "ok":
            assert f"cpt schedule remove {finding.about}" in str(finding.remedy)
