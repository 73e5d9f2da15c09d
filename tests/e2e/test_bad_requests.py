"""Bad input fails with a cause that names field, value and remedy, before any instance is launched."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.account import HOME, OTHER, Account

HUGE = 8 << 40  # 8 TiB: more than a test machine has free, less than ext4's largest file

Change = Callable[[dict[str, Any]], Any]


def without(request: dict[str, Any], *keys: str) -> dict[str, Any]:
    changed = copy.deepcopy(request)
    inner = changed
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return changed


CASES: dict[str, tuple[Change, str, list[str]]] = {
    "missing-destination": (lambda r: without(r, "destination"), "InvalidRequest", ["destination", "required"]),
    "missing-region": (lambda r: without(r, "source", "region"), "InvalidRequest", ["source.region", "required"]),
    "unknown-key": (lambda r: {**r, "sorce": 1}, "InvalidRequest", ["sorce"]),
    "wrong-type": (lambda r: {**r, "preTest": "yes"}, "InvalidRequest", ["preTest", "yes"]),
    "unknown-region": (
        lambda r: {**r, "source": {**r["source"], "region": "ap-south-1"}},
        "InvalidRequest",
        ["source.region", "ap-south-1", HOME, OTHER],
    ),
    "unknown-instance": (
        lambda r: {**r, "source": {**r["source"], "instanceId": "i-0badbadbadbadbad0"}},
        "InvalidRequest",
        ["source.instanceId", "i-0badbadbadbadbad0", HOME],
    ),
    "instance-of-the-other-region": (
        lambda r: {**r, "source": {**r["source"], "region": OTHER}},
        "InvalidRequest",
        ["source.instanceId", OTHER],
    ),
    "absent-path": (
        lambda r: {**r, "source": {**r["source"], "paths": ["/nowhere/at/all"]}},
        "SurveyProblem",
        ["/nowhere/at/all"],
    ),
    "relative-path": (
        lambda r: {**r, "source": {**r["source"], "paths": ["data"]}},
        "InvalidRequest",
        ["source.paths", "data"],
    ),
    "destination-is-a-file": (
        lambda r: {**r, "destination": {**r["destination"], "path": "/etc/hostname"}},
        "SurveyProblem",
        ["/etc/hostname"],
    ),
    "pairs-negative": (lambda r: {**r, "relays": {"pairs": -1}}, "InvalidRequest", ["relays.pairs", "-1"]),
    "pairs-absurd": (lambda r: {**r, "relays": {"pairs": 1000}}, "InvalidRequest", ["relays.pairs", "1000"]),
    "not-an-object": (lambda r: ["source"], "InvalidRequest", ["object"]),
    "approval-that-nobody-can-give-in-time": (
        lambda r: {**r, "approval": "required", "approvalTimeoutSeconds": 1},
        "InvalidRequest",
        ["approvalTimeoutSeconds", "10"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_request_is_refused_before_anything_is_launched(account: Account, tmp_path: Path, case: str) -> None:
    change, error, words = CASES[case]
    (tmp_path / "set").mkdir()
    request = account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 1})
    run = account.run(change(request), f"bad-{case}")
    assert (run.status, run.error) == ("FAILED", error)
    assert run.cause is not None
    for word in words:
        assert word in run.cause
    assert not account.launched(f"bad-{case}", HOME)
    assert not account.launched(f"bad-{case}", OTHER)
    assert not (tmp_path / "out").exists()


def test_two_sources_for_one_path_are_refused_with_the_names_of_both(account: Account, tmp_path: Path) -> None:
    for source in ("a", "b"):
        (tmp_path / source).mkdir()
        (tmp_path / source / "x").write_text(source)
        (tmp_path / source / f"only {source}").write_text(source)
    request = account.request("", tmp_path / "out", relays={"pairs": 1})
    request["source"]["paths"] = [f"{tmp_path}/a/", f"{tmp_path}/b/"]
    run = account.run(request, "two-sources")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    for word in (f"'{tmp_path}/a/x'", f"{tmp_path}/b/x", 'both land as "x"', "two transfers"):
        assert word in str(run.cause)
    assert not account.launched("two-sources", HOME)
    assert not account.launched("two-sources", OTHER)
    assert not (tmp_path / "out").exists()


def test_unreadable_file_is_named(account: Account, tmp_path: Path) -> None:
    secret = "/proc/sys/vm/compact_memory"  # write-only, for root too
    run = account.run(account.request(secret, tmp_path / "out"), "unreadable")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert secret in str(run.cause)


def test_destination_too_small_is_told_with_both_numbers(account: Account, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    with (tmp_path / "set" / "sparse").open("wb") as stream:
        stream.truncate(HUGE)
    run = account.run(account.request(tmp_path / "set", tmp_path / "out"), "too-small")
    assert (run.status, run.error) == ("FAILED", "DestinationTooSmall")
    assert str(HUGE) in str(run.cause).replace(",", "").replace("_", "")


def test_a_busy_destination_is_refused(account: Account, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "big").write_bytes(bytes(120_000_000))
    first = account.start(account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 0}), "busy-1")
    account.cloud.wait_for(lambda: "Survey Ends" in account.history(first), 60)
    second = account.run(account.request(tmp_path / "set", tmp_path / "out" / "inner", relays={"pairs": 0}), "busy-2")
    assert (second.status, second.error) == ("FAILED", "DestinationBusy")
    assert account.wait(first).status == "SUCCEEDED"


def test_a_busy_destination_is_refused_under_another_name_of_it(account: Account, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "big").write_bytes(bytes(120_000_000))
    (tmp_path / "link").symlink_to(tmp_path)
    first = account.start(account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 0}), "named-1")
    account.cloud.wait_for(lambda: "Start Transfer" in account.history(first), 60)
    second = account.run(account.request(tmp_path / "set", tmp_path / "link/out/inner", relays={"pairs": 0}), "named-2")
    assert (second.status, second.error) == ("FAILED", "DestinationBusy")
    assert "'named-1'" in str(second.cause)
    assert account.wait(first).status == "SUCCEEDED"
    assert not (tmp_path / "out" / "inner").exists()
