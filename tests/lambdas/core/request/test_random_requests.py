"""Requests that are made at random: the models accept no shape that the schema refuses."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST, request
from tests.lambdas.hdfs import hdfs_destination, hdfs_source
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "transfer-request.schema.json").read_text()))
LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=8, instance_types=("t3.small", "t3.medium"))


def refusal(document: Any) -> list[str]:
    """Every problem of a request; none of one that is accepted."""
    try:
        parse_request(document, LIMITS)
    except InvalidRequest as error:
        return error.problems
    return []


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2000),
    st.sampled_from([1 << power for power in range(11)]),
    st.sampled_from([0.5, 4.0, 1e3]),
    st.sampled_from(["auto", "spot", "none", "cost", "/a", "a", "", WEST, SOURCE_ID, "t3.small", "x" * 81]),
    st.sampled_from(["hdfs", "machine", "etl", "etl/host", "follow", "skip"]),
    st.lists(st.sampled_from([SOURCE_ID, DESTINATION_ID]), max_size=2),
    st.lists(st.sampled_from(["/a/x", "/b", "t3.small", 3]), max_size=3),
    st.dictionaries(st.sampled_from(["pairs", "minimise", "paths"]), st.integers(0, 3), max_size=2),
)
places = st.sampled_from(
    [
        ("schemaVersion",),
        ("name",),
        ("relays",),
        ("relays", "pairs"),
        ("relays", "instanceTypes"),
        ("relays", "market"),
        ("objective", "minimise"),
        ("objective", "valueOfTimeUsdPerHour"),
        ("objective", "maxCostUsd"),
        ("objective", "deadlineSeconds"),
        ("objective", "deadlineConfidence"),
        ("preTest",),
        ("approval",),
        ("chunkSizeMiB",),
        ("bandwidthLimitMbps",),
        ("source", "paths"),
        ("source", "instanceId"),
        ("destination", "path"),
        ("destination",),
        ("unheard",),
        ("source", "instance_id"),
        ("source", "kind"),
        ("source", "workers"),
        ("source", "user"),
        ("destination", "workers"),
        ("destination", "replication"),
        ("destination", "blockSizeMiB"),
        ("preserve", "sparse"),
        ("links",),
    ]
)
some_request = st.sampled_from(
    [
        request(),
        request(source=hdfs_source(), destination=hdfs_destination(2)),
        request(source=hdfs_source(2)),
        request(destination=hdfs_destination(blockSizeMiB=128)),
    ]
)


@given(some_request, places, values)
@settings(max_examples=800)
def test_models_accept_only_what_the_schema_accepts_and_nothing_less_in_shape(
    good: dict[str, Any], place: tuple[str, ...], value: Any
) -> None:
    document = copy.deepcopy(good)
    inner = document
    for key in place[:-1]:
        inner = inner.setdefault(key, {})
    inner[place[-1]] = value
    valid = SCHEMA.is_valid(document)
    if not refusal(document):
        assert valid
    elif valid:
        rules = (
            "not supported yet",
            "not enrolled",
            "allowed",
            "limit",
            "both land as",
            "is the source as well",
            "is a worker of the source as well",
            " is HDFS: ",
            "'..'",
            "with a deadline",
            "without a deadline",
            "name a directory above",
        )
        assert all(any(rule in problem for rule in rules) for problem in refusal(document))
