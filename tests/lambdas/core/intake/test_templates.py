"""Starts that people add are judged as those of the settings: vitest reads the cases of `contracts/starts.json` too."""

import json
from typing import Any

import pytest

from lambdas.core.ends.allowed_buckets import AllowedBucket, Use
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake import templates
from lambdas.core.intake.arrivals import START_NAME
from lambdas.core.intake.templates import read_schedule
from lambdas.core.request.request import Limits
from tests.paths import CONTRACTS, ROOT

CONTRACT: dict[str, Any] = json.loads((CONTRACTS / "starts.json").read_text())
SETTINGS = CONTRACT["settings"]
SCHEMA = json.loads((ROOT / "infra" / "lib" / "settings.schema.json").read_text())["properties"]["starts"]["properties"]
LIMITS = Limits(tuple(SETTINGS["regions"]), 16, ("t3.small",))
USES: tuple[Use, ...] = ("read", "write", "delete")
ALLOWED = [
    AllowedBucket(
        one["bucket"],
        one.get("prefix", ""),
        one["region"],
        frozenset(use for use in USES if one.get(use)),
        starts=one.get("starts", False),
    )
    for one in SETTINGS["buckets"]
]


def filled(case: dict[str, Any]) -> dict[str, Any]:
    """The whole start: with the ends that all have, and the filling."""
    ends = {"source": CONTRACT["source"], "destination": CONTRACT["destination"]}
    whole = {**case["start"], "request": {**ends, **case.get("request", {})}}
    return dict(json.loads(json.dumps(whole).replace("FILL", "x" * case.get("fill", 0))))


@pytest.mark.parametrize("case", CONTRACT["schedules"], ids=lambda case: case["about"])
def test_a_schedule_is_judged_as_one_of_the_settings(case: dict[str, Any]) -> None:
    written = {"name": "nightly", **filled(case)}
    if "refused" not in case:
        assert read_schedule(written, LIMITS, ALLOWED).request == written["request"]
        return
    with pytest.raises(InvalidRequest) as refused:
        read_schedule(written, LIMITS, ALLOWED)
    field, _, remedy = refused.value.problems[0].partition(": ")
    assert field.startswith(f"$.{case['refused']}")
    assert remedy.rpartition(";")[2].strip(), "it says what would be right"


def test_where_nobody_knows_what_is_allowed_the_functions_judge_the_buckets() -> None:
    [case] = [case for case in CONTRACT["schedules"] if case["about"] == "a bucket that they may only read"]
    assert read_schedule({"name": "nightly", **filled(case)}, LIMITS, None).name == "nightly"


@pytest.mark.parametrize("name", ["", "Nightly", "1st", "a/b", "../x", "n" * 31, "a b", "ä", "nightly\n"])
def test_a_name_that_is_none_is_refused_with_the_remedy(name: str) -> None:
    written = {"name": name, **filled(CONTRACT["schedules"][0])}
    with pytest.raises(InvalidRequest, match=templates.NAME_REMEDY) as refused:
        read_schedule(written, LIMITS, ALLOWED)
    assert refused.value.problems[0].startswith("$.name: ")


def test_patterns_and_keys_are_those_of_the_settings() -> None:
    schedules = SCHEMA["schedules"]
    entry = schedules["additionalProperties"]
    assert schedules["propertyNames"] == {"pattern": START_NAME, "remedy": templates.NAME_REMEDY}
    assert entry["properties"]["expression"]["pattern"] == templates.EXPRESSION
    assert set(
        templates.ScheduleStart.from_document({"name": "a", **filled(CONTRACT["schedules"][0])}).to_document()
    ) == {
        "name",
        *entry["properties"],
    }
