"""Lines of a file of profiles: what an import refuses, and what becomes of an item that a table has."""

import json
from typing import Any, get_args

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.profile import Metric
from lambdas.core.estimate.profile_entry import ProfileEntry, read_entries
from tests.paths import CONTRACTS

NOW = 1_795_900_400.0
SCHEMA = json.loads((CONTRACTS / "profile-entry.schema.json").read_text())
GOOD = [
    json.dumps(json.loads(path.read_text())) for path in sorted(CONTRACTS.glob("examples/good/profile-entry/*.json"))
]


def entry(subject: str = "c6in.large", configured: dict[str, float] | None = None, **at: float) -> ProfileEntry:
    """With one sample of each metric, whose mean is its time."""
    metrics = {
        metric: {"mean": when, "secondMoment": when * when, "samples": 1, "atSeconds": when}
        for metric, when in at.items()
    }
    document = {"subject": subject, "regionPair": "a>b", "metrics": metrics, "configured": configured or {}}
    return ProfileEntry.from_document(document)


def means(found: ProfileEntry | None) -> dict[str, float]:
    assert found is not None
    return {metric: history.mean for metric, history in found.metrics.items()}


def test_the_contract_names_all_metrics_and_no_other() -> None:
    for part in ("metrics", "configured"):
        assert SCHEMA["properties"][part]["propertyNames"]["enum"] == list(get_args(Metric))


def test_a_file_is_read_whole_with_or_without_empty_lines() -> None:
    assert len(read_entries(["", *GOOD, " "], NOW)) == len(GOOD) == 3


def change(**changes: Any) -> str:
    document = json.loads(GOOD[1])
    return json.dumps({**document, "subject": "other", **changes})


def history(**changes: Any) -> dict[str, Any]:
    known = {"mean": 1.0, "secondMoment": 1.0, "samples": 1, "atSeconds": NOW}
    return {"metrics": {"spawn": {**known, **changes}}}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: $: "),
        ("[]", "line 2: $: "),
        (change(subject=""), 'line 2: $.subject: "" is not valid; write 1 characters or more'),
        (change(speed=1), "line 2: $.speed: is not a known key"),
        (change(**history(mean=-1.5)), "line 2: $.metrics.spawn.mean: -1.5 is not valid; write 0.0 or more"),
        (change(**history(samples=0)), "line 2: $.metrics.spawn.samples: 0 is not valid; write 1 or more"),
        (change(**history()).replace("1.0", "1e999"), "line 2: $.metrics.spawn"),
        (change(**history(atSeconds=NOW + 3600)), "line 2: $.metrics.spawn.atSeconds: 1795904000 lies in the future"),
        (GOOD[0], "line 2: $.subject: t3.small on us-west-2>eu-west-1 stands in line 1 too; leave one of them out"),
    ],
)
def test_what_does_not_parse_is_named_by_line_and_field(line: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_entries([GOOD[0], line], NOW)
    assert refused.value.problems[0].startswith(says)


def test_all_lines_that_are_wrong_are_named_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_entries([change(speed=1), GOOD[0], change(speed=1)], NOW)
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["line 1", "line 3"]


def test_of_each_metric_what_was_measured_last_stays() -> None:
    stored = entry(spawn=200.0, direct=100.0, tail=7.0)
    assert means(entry(spawn=100.0, direct=200.0, gain=1.0).over(stored, overwrite=False)) == {
        "spawn": 200.0,
        "direct": 200.0,
        "tail": 7.0,
        "gain": 1.0,
    }
    assert entry(spawn=100.0, direct=100.0).over(stored, overwrite=False) is None


def test_who_says_so_replaces_what_is_newer() -> None:
    stored = entry(configured={"spawn": 8.0}, spawn=200.0)
    old = entry(configured={"spawn": 9.0, "direct": 1.0}, spawn=100.0)
    kept = old.over(stored, overwrite=False)
    assert kept is not None
    assert (means(kept), kept.configured) == ({"spawn": 200.0}, {"spawn": 8.0, "direct": 1.0})
    told = old.over(stored, overwrite=True)
    assert told is not None
    assert (means(told), told.configured) == ({"spawn": 100.0}, {"spawn": 9.0, "direct": 1.0})
    assert told.over(told, overwrite=True) is None
