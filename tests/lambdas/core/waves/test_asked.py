"""What waves ask for: which requests their transfers get, and what is refused before anything is started."""

import json
from pathlib import Path
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits
from lambdas.core.waves.asked import WavesRequest
from tests.paths import CONTRACTS

LIMITS = Limits(frozenset({"us-west-2", "eu-west-1"}), 16, ())
DIGEST = "5c1d5e2b0d0e6a5f3a1b7c9d8e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b"
REQUEST: dict[str, Any] = {
    "source": {"instanceId": "i-0aaaaaaaaaaaaaaa1", "region": "us-west-2", "paths": ["/data/set"]},
    "destination": {"instanceId": "i-0bbbbbbbbbbbbbbb2", "region": "eu-west-1", "path": "/restore"},
}


def read(request: dict[str, Any] | None = None, **keys: Any) -> WavesRequest:
    return WavesRequest.read({"label": "archive", "request": {**REQUEST, **(request or {})}, **keys}, LIMITS)


@pytest.mark.parametrize("path", sorted((CONTRACTS / "examples/good/waves-request").iterdir()), ids=lambda p: p.stem)
def test_good_examples_are_read(path: Path) -> None:
    assert WavesRequest.read(json.loads(path.read_text()), LIMITS).label


@pytest.mark.parametrize("path", sorted((CONTRACTS / "examples/bad/waves-request").iterdir()), ids=lambda p: p.stem)
def test_bad_examples_are_refused(path: Path) -> None:
    with pytest.raises(InvalidRequest):
        WavesRequest.read(json.loads(path.read_text()), LIMITS)


def test_one_bound_by_default_a_minute() -> None:
    assert (read().seconds, read(untilSeconds="5m").seconds) == (60, 300)
    assert (read(untilBytes="1GB").seconds, read(untilBytes="1GB").until_bytes) == (None, 10**9)


def test_waves_remove_nothing_and_leave_changes_to_the_next_and_the_cutover_is_the_request_itself() -> None:
    mirror = {"delete": True, "maxDelete": 5, "onProblem": "fail", "name": "mine", "objective": {"maxCostUsd": 2}}
    asked = read(mirror)
    look, wave = asked.look(0.5), asked.wave(0.5)
    assert (look["dryRun"], look["delete"], look["onProblem"], look["label"]) == (True, True, "fail", "archive")
    assert wave["onProblem"] == "skip"
    assert not {"delete", "maxDelete", "confirmDelete", "dryRun", "name"} & wave.keys()
    assert look["objective"] == wave["objective"] == {"maxCostUsd": 1.5}, "one budget for all together"
    last = read({**mirror, "confirmDelete": DIGEST}, cutOver=True).last(0.0)
    assert (last["delete"], last["confirmDelete"], last["onProblem"]) == (True, DIGEST, "fail")
    assert "name" not in last


def test_of_a_mirror_that_replaces_nothing_waves_keep_nothing() -> None:
    wave = read({"overwrite": "never", "delete": True, "keepReplaced": ".replaced"}).wave(0.0)
    assert "keepReplaced" not in wave


@pytest.mark.parametrize(
    ("request_", "keys", "words"),
    [
        ({"dryRun": True}, {}, "$.request.dryRun: True: waves look by themselves"),
        ({"resume": True}, {}, "$.request.resume: True: each wave is a transfer of its own"),
        ({"resendAll": True}, {}, "$.request.resendAll: True: each wave would send everything again"),
        ({"approval": "required"}, {}, "$.request.approval: 'required': waves go on without a person"),
        ({"profile": "measure"}, {}, "$.request.profile: 'measure': nothing would be moved"),
        ({"label": "other"}, {}, "$.request.label: 'other', and $.label is 'archive'"),
        ({"delete": True, "confirmDelete": DIGEST}, {}, "$.request.confirmDelete: no wave removes anything"),
        (
            {"delete": True, "confirmDelete": "without-dry-run"},
            {"cutOver": True},
            "$.request.confirmDelete: a cutover takes the digest",
        ),
        ({"delete": True}, {"cutOver": True}, "$.request.confirmDelete: is missing"),
        ({"relays": {"pairs": 17}}, {}, "$.request.relays.pairs: 17 is more than this deployment's limit"),
        ({"objective": {"maxCostUsd": "much"}}, {}, "$.request.objective.maxCostUsd"),
        ({"objective": "cheap"}, {}, "$.request.objective"),
        ({"source": None}, {}, "$.request.source"),
        ({}, {"mostWaves": 51}, "$.mostWaves: 51"),
        ({}, {"untilSeconds": 1, "untilBytes": 1}, "$.untilBytes: one bound ends the waves"),
        ({}, {"label": "a\nb"}, "$.label"),
        ({}, {"pace": 1}, "$.pace"),
    ],
)
def test_what_cannot_work_is_refused_by_field_and_value(
    request_: dict[str, Any], keys: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(request_, **keys)
    assert words in str(refused.value)


def test_between_two_buckets_there_are_no_waves() -> None:
    ends = {
        "source": {"kind": "bucket", "bucket": "from-here", "region": "us-west-2"},
        "destination": {"kind": "bucket", "bucket": "to-there", "region": "eu-west-1"},
    }
    with pytest.raises(InvalidRequest, match="waves need a machine"):
        read(ends)


def test_what_is_no_object_is_refused() -> None:
    values: tuple[Any, ...] = (None, [], "waves", {"label": "archive", "request": []})
    for raw in values:
        with pytest.raises(InvalidRequest):
            WavesRequest.read(raw, LIMITS)
