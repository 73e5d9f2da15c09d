"""Starts by objects that people add are judged as those of the settings: vitest reads the same cases."""

import json
from typing import Any

import pytest

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake import added_starts
from lambdas.core.intake.added_starts import AddedStarts, Listening, ObjectStart, circle, read_object_start
from lambdas.core.intake.templates import NAME_REMEDY
from tests.lambdas.core.intake.test_templates import ALLOWED, CONTRACT, LIMITS, SCHEMA, filled

ALLOWED = [*ALLOWED, AllowedBucket("silent", "", "us-west-2", frozenset({"read"}))]
MACHINE = {"instanceId": "i-0bbbbbbbbbbbbbbb2", "region": "eu-west-1", "path": "/restore"}


def written(case: dict[str, Any], name: str = "daily") -> dict[str, Any]:
    whole = filled(case)
    if "source" not in case.get("request", {}):
        whole["request"]["source"] = CONTRACT["objectsSource"]
    return {"name": name, **whole}


def start(name: str, prefix: str = "daily/", **more: Any) -> ObjectStart:
    request = {"source": {**CONTRACT["objectsSource"], "prefix": prefix}, "destination": MACHINE, **more}
    return ObjectStart(name=name, bucket="exports", prefix=prefix, request=request)


def read(document: dict[str, Any], *others: Listening) -> ObjectStart:
    return read_object_start(document, LIMITS, ALLOWED, others)


@pytest.mark.parametrize("case", CONTRACT["objects"], ids=lambda case: case["about"])
def test_a_start_is_judged_as_one_of_the_settings(case: dict[str, Any]) -> None:
    if "refused" not in case:
        assert read(written(case)).request == written(case)["request"]
        return
    with pytest.raises(InvalidRequest) as refused:
        read(written(case))
    field, _, remedy = refused.value.problems[0].partition(": ")
    assert field.startswith(f"$.{case['refused']}")
    assert remedy.rpartition(";")[2].strip(), "it says what would be right"


def test_patterns_and_keys_are_those_of_the_settings() -> None:
    objects = SCHEMA["objects"]
    entry = objects["additionalProperties"]["properties"]
    assert objects["propertyNames"]["remedy"] == NAME_REMEDY
    assert (entry["prefix"]["pattern"], entry["suffix"]["pattern"]) == (added_starts.PREFIX, added_starts.SUFFIX)
    assert (entry["windowSeconds"]["minimum"], entry["windowSeconds"]["maximum"]) == (10, 3600)
    assert set(start("daily").model_copy(update={"suffix": "x"}).to_document()) == {"name", *entry}


def test_a_machine_as_its_source_is_refused_with_what_takes_it() -> None:
    document = written({"start": {"bucket": "exports"}, "request": {"source": CONTRACT["source"]}})
    with pytest.raises(InvalidRequest, match=r"\$\.request\.source: .*cpt\.starts\.objects in cdk\.json"):
        read(document)


@pytest.mark.parametrize(
    ("bucket", "prefix", "says"),
    [
        ("silent", "daily/", 'write "starts": true into its entry of cpt.buckets'),
        ("part", "other/", "for keys that begin with 'daily/'"),
    ],
)
def test_a_bucket_of_which_nobody_tells_is_refused_with_what_to_write(bucket: str, prefix: str, says: str) -> None:
    allowed = [
        *ALLOWED,
        AllowedBucket("part", "", "us-west-2", frozenset({"read"})),
        AllowedBucket("part", "daily/", "us-west-2", frozenset({"read"}), starts=True),
    ]
    source = {"kind": "bucket", "bucket": bucket, "region": "us-west-2"}
    document = {
        "name": "daily",
        "bucket": bucket,
        "prefix": prefix,
        "request": {"source": source, "destination": MACHINE},
    }
    with pytest.raises(InvalidRequest) as refused:
        read_object_start(document, LIMITS, allowed, ())
    assert refused.value.problems[0].startswith(f"$.bucket: '{bucket}': ")
    assert says in refused.value.problems[0]


def test_starts_that_lead_back_to_one_another_are_refused_whoever_has_made_the_others() -> None:
    first = Listening("first", "a", "in/", ("b", "x/"))
    second = Listening("second", "b", "x/y/", ("c", ""))
    third = Listening("third", "c", "z/", ("a", "in/deep/"))
    assert circle([first, second]) is None
    assert "'third', which it leads to," in str(circle([first, second, third]))
    alone = Listening("alone", "a", "in/", ("a", ""))
    assert str(circle([alone])).startswith("$.request.destination: it writes where it listens (s3://a/in/)")
    # One that others run in circles beside has no part in it.
    assert circle([Listening("beside", "d", "", ("e", "")), first, second, third]) is None


def test_a_start_that_closes_a_circle_is_refused() -> None:
    archive = {"kind": "bucket", "bucket": "archive", "prefix": "backup/", "region": "eu-west-1"}
    document = written({"start": {"bucket": "exports", "prefix": "daily/"}, "request": {"destination": archive}})
    back = Listening("back", "archive", "backup/", ("exports", "daily/"))
    assert read(document).name == "daily"
    with pytest.raises(InvalidRequest, match="'back', which it leads to, writes where it listens"):
        read(document, back)


def test_all_that_are_added_are_versions_of_one_document_with_bounds() -> None:
    known = AddedStarts()
    for at in range(added_starts.MOST_STARTS):
        known = known.with_(start(f"s{at}"))
    assert (known.version, len(known.starts)) == (added_starts.MOST_STARTS, added_starts.MOST_STARTS)
    with pytest.raises(InvalidRequest, match=r"^\$\.name: 50 are added"):
        known.with_(start("more"))
    changed = known.with_(start("s1", "other/"))
    assert [one.prefix for one in changed.starts if one.name == "s1"] == ["other/"]
    assert changed.without(["s1", "s2", "absent"]).named("s1") is None
    big = AddedStarts()
    for at in range(16):
        big = big.with_(start(f"s{at}", select={"exclude": ["x" * 5_800]}))
    with pytest.raises(InvalidRequest, match=r"^\$\.request: with it all that are added have 1"):
        big.with_(start("more", select={"exclude": ["x" * 5_800]}))
    assert len(big.to_json()) <= added_starts.MOST_CHARACTERS
    assert AddedStarts.model_validate_json(big.to_json(), by_alias=True, by_name=False) == big


def test_which_objects_a_start_takes() -> None:
    one = start("daily").model_copy(update={"suffix": ".csv"})
    known = AddedStarts().with_(one).with_(start("all", ""))
    names = {key: [found.name for found in known.taking("exports", key)] for key in ("daily/a.csv", "daily/a", "b.csv")}
    assert names == {"daily/a.csv": ["all", "daily"], "daily/a": ["all"], "b.csv": ["all"]}
    assert known.taking("others", "daily/a.csv") == []


def test_a_window_knows_an_added_start_from_one_of_the_settings() -> None:
    known = AddedStarts().with_(start("daily"))
    assert known.named("daily") is not None
    assert start("daily").collected.name == "added_daily"
    assert known.of_window("added_daily") is not None
    assert known.of_window("daily") is None
    assert json.loads(start("daily").collected.template) == start("daily").request
