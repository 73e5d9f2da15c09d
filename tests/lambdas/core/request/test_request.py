"""The models judge as the schema does, and say what would be right."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import IRELAND, SOURCE_ID, WEST, request
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "transfer-request.schema.json").read_text()))
LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=("t3.small", "t3.medium"))


def timetable(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"timetable": list(entries)}


def accepted(document: Any) -> bool:
    try:
        parse_request(document, LIMITS)
    except InvalidRequest:
        return False
    return True


def refusal(document: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as error:
        parse_request(document, LIMITS)
    return error.value.problems


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("examples/*/transfer-request/*.json")), ids=lambda p: p.name)
def test_golden_examples_are_judged_as_their_folder_says(path: Path) -> None:
    document = json.loads(path.read_text())
    problems = [] if accepted(document) else refusal(document)
    if path.parts[-3] == "bad":
        assert problems
    else:
        # What a deployment refuses although its shape is right: not enrolled, not allowed.
        assert all("not enrolled" in p or "allowed" in p or "limit" in p for p in problems)


def test_paths_that_are_too_long_together_for_a_machines_command_are_refused() -> None:
    document = request()
    document["source"]["paths"] = [f"/{number:03}{'é' * 140}" for number in range(100)]
    assert accepted(document)
    document["source"]["paths"] = [f"/{number:03}{'é' * 150}" for number in range(100)]
    (problem,) = refusal(document)
    assert problem.startswith("$.source.paths: 100 paths are 90800 bytes of JSON together, and 90000 reach the machine")
    # Each takes 4 + 148 * 6 + 4 bytes, two quotes, and a comma with its space, or the brackets: 90,000 in all.
    document["source"]["paths"] = [f"/{number:03}{'é' * 148}last" for number in range(100)]
    assert accepted(document)


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("/a/x", "/b/x", "x"),
        ("/a/x", "/b//x", "x"),
        ("/a/x", "/b/x/.", "x"),
        ("/a/x/.", "/x/././/.", "x"),
        ("/a/x", "/a/x", "x"),
    ],
)
def test_two_paths_that_land_under_one_name_are_refused(first: str, second: str, name: str) -> None:
    document = request()
    document["source"]["paths"] = [first, second]
    assert refusal(document) == [
        f"$.source.paths[1]: '{second}' and '{first}' both land as '{name}'; "
        'give one of them another path to land as, e.g. {"path": "/data/set", "as": "2026/set"}'
    ]


@pytest.mark.parametrize(
    "paths", [["/a/x", "/b/x/"], ["/a/", "/b/"], ["/a/", "/a/"], ["/.", "/b/."], ["/a/x", "/b/y/./"]]
)
def test_what_paths_with_a_slash_bring_is_left_to_the_survey(paths: list[str]) -> None:
    document = request()
    document["source"]["paths"] = paths
    assert accepted(document)


def test_least_time_beside_a_deadline_is_refused() -> None:
    problems = refusal({**request(), "objective": {"minimise": "time", "deadlineSeconds": 60}})
    assert problems == [
        "$.objective.minimise: 'time': with a deadline the cheapest row that meets it is chosen, not the fastest; "
        "leave one of them out"
    ]


def test_defaults_are_those_of_the_schema() -> None:
    parsed = parse_request(request(), LIMITS)
    assert parsed.schema_version == 1
    assert (parsed.relays.pairs, parsed.relays.market, parsed.relays.existing) == ("auto", "on-demand", [])
    assert (parsed.objective.minimise, parsed.pre_test, parsed.approval) == ("balanced", "auto", "none")
    assert parsed.approval_timeout_seconds == 86_400


def without(*keys: str) -> dict[str, Any]:
    document = copy.deepcopy(request())
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return document


CASES: dict[str, tuple[Any, list[str]]] = {
    "missing key": (without("destination"), ["$.destination", "required"]),
    "missing inner key": (without("source", "region"), ["$.source.region", "required"]),
    "unknown key": ({**request(), "sorce": 1}, ["$.sorce", "not a known key"]),
    "wrong type": (request(preTest="yes"), ["$.preTest", '"yes"', "auto"]),
    "negative pairs": (
        request(relays={"pairs": -3}),
        ['$.relays.pairs: -3 is not valid; write "auto", 0 to 64, or {"source": 2, "destination": 3}'],
    ),
    "absurd pairs": (request(relays={"pairs": 1000}), ["$.relays.pairs", "1000", "0 to 64"]),
    "pairs over the limit": (request(relays={"pairs": 9}), ["$.relays.pairs", "9", "0 to 8"]),
    "side without relays": (request(relays={"pairs": {"source": 0, "destination": 1}}), ["$.relays.pairs.source", "0"]),
    "one side": (request(relays={"pairs": {"source": 1}}), ["$.relays.pairs.destination", "required"]),
    "side over the limit": (
        request(relays={"pairs": {"source": 2, "destination": 9}}),
        ["$.relays.pairs.destination", "9", "1 to 8"],
    ),
    "pre-test of what are no pairs": (
        request(relays={"pairs": {"source": 2, "destination": 3}}, preTest=True),
        ["$.preTest", "2 source with 3 destination", "leave it out"],
    ),
    "not an object": (["source"], ["$", "object"]),
    "end as a relay": (request(relays={"existing": [SOURCE_ID]}), ["$.relays.existing[0]", SOURCE_ID, "is an end"]),
    "relay twice": (
        request(relays={"existing": ["i-0cccccccccccccccc", "i-0cccccccccccccccc"]}),
        ["$.relays.existing[1]", "is named twice"],
    ),
    "share of nothing": (request(relays={"existingShare": 0}), ["$.relays.existingShare", "0"]),
    "existing relays without pairs": (
        request(relays={"pairs": 0, "existing": ["i-0cccccccccccccccc"]}),
        ["$.relays.existing", "$.relays.pairs is 0"],
    ),
    "existing relays that are measured": (
        request(profile="measure", relays={"existing": ["i-0cccccccccccccccc"]}),
        ["$.relays.existing", "a share", "'measure'"],
    ),
    "dot dot": (
        {**request(), "destination": {**request()["destination"], "path": "/a/../b"}},
        ["$.destination.path", "/a/../b", ".."],
    ),
    "relative": ({**request(), "source": {**request()["source"], "paths": ["data"]}}, ["$.source.paths[0]", "data"]),
    "collision": (
        {**request(), "source": {**request()["source"], "paths": ["/a/x", "/b/x"]}},
        ["$.source.paths[1]", "/b/x", "/a/x"],
    ),
    "region": (
        {**request(), "source": {**request()["source"], "region": "ap-south-1"}},
        ["$.source.region", "ap-south-1", WEST, IRELAND],
    ),
    "same machine": (
        {**request(), "destination": {**request()["destination"], "instanceId": SOURCE_ID}},
        ["$.destination.instanceId", SOURCE_ID],
    ),
    "type not allowed at one side": (
        request(relays={"instanceTypes": {"source": ["t3.small"], "destination": ["m5.large"]}}),
        ["$.relays.instanceTypes.destination[0]", "m5.large", "t3.small"],
    ),
    "type not allowed": (request(relays={"instanceTypes": ["m5.large"]}), ["instanceTypes[0]", "m5.large", "t3.small"]),
    "least energy by a deadline": (
        request(objective={"minimise": "energy", "deadlineSeconds": 60}),
        ["$.objective.minimise", "'energy'", "with a deadline", "least energy"],
    ),
    "value of time that nothing goes by": (
        request(objective={"minimise": "time", "valueOfTimeUsdPerHour": 3}),
        ["$.objective.minimise", "'time'", "value of time", "leave one of them out"],
    ),
    "value of time beside a deadline": (
        request(objective={"valueOfTimeUsdPerHour": 3, "deadlineSeconds": 60}),
        ["$.objective.valueOfTimeUsdPerHour: 3", "deadline", "leave one of them out"],
    ),
    "confidence in no deadline": (
        request(objective={"deadlineConfidence": 0.99}),
        ["$.objective.deadlineConfidence: 0.99", "without a deadline", "leave one of them out"],
    ),
    "limit on what is measured": (
        request(profile="measure", bandwidthLimitMbps=80),
        ["$.bandwidthLimitMbps", "80", "leave it out", "measure"],
    ),
    "null": (request(name=None), ["$.name", "null"]),
    "timetable on what is measured": (
        request(profile="measure", bandwidthLimitMbps=timetable({"from": "08:00", "mbps": 80})),
        ["$.bandwidthLimitMbps: a timetable", "leave it out", "measure"],
    ),
    "unknown zone": (
        request(bandwidthLimitMbps={**timetable({"from": "08:00", "mbps": 80}), "timeZone": "Europe/Berln"}),
        ["$.bandwidthLimitMbps.timeZone: 'Europe/Berln'", "IANA name", "Europe/Berlin"],
    ),
    "folder of zones": (
        request(bandwidthLimitMbps={**timetable({"from": "08:00", "mbps": 80}), "timeZone": "Europe"}),
        ["$.bandwidthLimitMbps.timeZone: 'Europe'", "IANA name"],
    ),
    "two entries at one moment": (
        request(
            bandwidthLimitMbps=timetable(
                {"from": "08:00", "mbps": 80},
                {"from": "09:00", "mbps": 5},
                {"from": "08:00", "days": ["sat"], "mbps": 9},
            )
        ),
        ["$.bandwidthLimitMbps.timetable[2].from", "timetable[0]", "sat at 08:00", "leave one out"],
    ),
    "day named twice": (
        request(bandwidthLimitMbps=timetable({"from": "08:00", "days": ["sat", "sat"], "mbps": 80})),
        ["$.bandwidthLimitMbps.timetable[0].days", "sat, sat", "once"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusal_names_field_value_and_remedy(case: str) -> None:
    document, words = CASES[case]
    text = "\n".join(refusal(document))
    for word in words:
        assert word in text


def test_a_budget_is_within_the_deployments() -> None:
    limits = dataclasses.replace(LIMITS, max_cost_usd=5.0)
    assert parse_request(request(objective={"maxCostUsd": 5}), limits).objective.max_cost_usd == 5
    with pytest.raises(InvalidRequest) as error:
        parse_request(request(objective={"maxCostUsd": 5.01}), limits)
    expected = "$.objective.maxCostUsd: 5.01 is more than this deployment's limit; give 5.0 at most"
    assert error.value.problems == [expected]


def test_every_problem_is_told_at_once() -> None:
    problems = refusal({**without("destination"), "preTest": "yes", "sorce": 1})
    assert len(problems) == 3


def test_paths_with_a_trailing_slash_do_not_collide() -> None:
    parse_request({**request(), "source": {**request()["source"], "paths": ["/a/x/", "/b/x", "/"]}}, LIMITS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a b"}, "write up to 80 letters, digits, '-' or '_', a letter or digit first"),
        ({"relays": {"existing": ["lent"]}}, "write the id of an instance, e.g. i-0123456789abcdef0"),
        ({"relays": {"instanceTypes": ["large"]}}, "write an instance type, e.g. c6in.large"),
        (
            {"relays": {"instanceTypes": {"source": ["t3.small"], "destination": ["large"]}}},
            "write an instance type, e.g. c6in.large",
        ),
        (
            {"relays": {"instanceTypes": {"source": ["t3.small"]}}},
            "$.relays.instanceTypes.destination: is missing; it is required",
        ),
        (
            {"source": {**request()["source"], "runAs": "no such"}},
            "write the name or the number of a user of that machine, e.g. backup or 1000",
        ),
        ({"bandwidthLimitMbps": 10**20}, "write Mbit/s as a whole number from 1 to 1000000, or a timetable"),
        ({"bandwidthLimitMbps": "08:00,100"}, "write Mbit/s as a whole number from 1 to 1000000, or a timetable"),
        (
            {"bandwidthLimitMbps": timetable()},
            "$.bandwidthLimitMbps.timetable: [] is not valid; write 1 or more",
        ),
        (
            {"bandwidthLimitMbps": timetable({"from": "8:00", "mbps": 100})},
            '$.bandwidthLimitMbps.timetable[0].from: "8:00" is not valid; write a time of day, e.g. 08:00',
        ),
        (
            {"bandwidthLimitMbps": timetable({"from": "08:00", "mbps": "fast"})},
            "[0].mbps: \"fast\" is not valid; write a whole number, without quotes or write 'none'",
        ),
        (
            {"bandwidthLimitMbps": timetable({"from": "08:00"})},
            "$.bandwidthLimitMbps.timetable[0].mbps: is missing; it is required",
        ),
    ],
)
def test_what_is_malformed_is_told_with_what_would_be_right(changes: dict[str, Any], words: str) -> None:
    (problem,) = refusal(request(**changes))
    assert problem.endswith(words)


@pytest.mark.parametrize(
    ("key", "value"), [("profile", "measure"), ("approval", "required"), ("resume", True)], ids=lambda value: str(value)
)
def test_a_dry_run_is_refused_with_what_needs_data_to_move(key: str, value: Any) -> None:
    wish = {key: value, **({"name": "backup"} if key == "resume" else {})}
    with pytest.raises(InvalidRequest, match=rf"\$\.dryRun: true, and \$\.{key} is .*leave one of them out"):
        parse_request(request(dryRun=True, **wish), LIMITS)


def test_the_name_of_a_dry_run_stays_free_for_the_transfer_itself() -> None:
    assert parse_request(request(dryRun=True, name="backup"), LIMITS).name is None
    assert parse_request(request(name="backup"), LIMITS).name == "backup"


@pytest.mark.parametrize(
    ("through", "words"),
    [
        (["ap-south-1"], "$.relays.through[0]: 'ap-south-1' is not enrolled; regions of this deployment: "),
        (["us-west-2"], "$.relays.through[0]: 'us-west-2' is the region of an end"),
        (["us-east-1", "us-east-1"], "$.relays.through[1]: 'us-east-1' is named twice"),
        ("everywhere", '$.relays.through: "everywhere"'),
        ([], "$.relays.through: "),
    ],
)
def test_third_region_that_cannot_be_is_named(through: object, words: str) -> None:
    limits = dataclasses.replace(LIMITS, regions=[*LIMITS.regions, "us-east-1"])
    with pytest.raises(InvalidRequest) as refused:
        parse_request(request(relays={"through": through}), limits)
    assert any(words in problem for problem in refused.value.problems), refused.value.problems


def test_third_regions_without_relays_or_within_one_region_are_refused() -> None:
    limits = dataclasses.replace(LIMITS, regions=[*LIMITS.regions, "us-east-1"])
    with pytest.raises(InvalidRequest, match=r"\$\.relays\.through: \$\.relays\.pairs is 0"):
        parse_request(request(relays={"through": ["us-east-1"], "pairs": 0}), limits)
    inside = request(relays={"through": "auto"})
    inside["destination"] = {**inside["destination"], "region": inside["source"]["region"]}
    with pytest.raises(InvalidRequest, match=r"both ends are in one region"):
        parse_request(inside, limits)
