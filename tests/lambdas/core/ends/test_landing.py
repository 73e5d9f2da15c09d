"""Source paths that arrive under another path than their own name."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.resume_check import differences
from lambdas.core.intake.sources import mirror_key
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from tests.lambdas.builders import IRELAND, WEST, request, transfer

LIMITS = Limits(regions=(WEST, IRELAND), max_pairs=64, instance_types=())


def named(path: str, lands_as: str) -> dict[str, str]:
    return {"path": path, "as": lands_as}


def document(*paths: Any) -> dict[str, Any]:
    return {**request(), "source": {**request()["source"], "paths": list(paths)}}


def parsed(*paths: Any) -> TransferRequest:
    return parse_request(document(*paths), LIMITS)


def refusal(*paths: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as refused:
        parsed(*paths)
    return refused.value.problems


@pytest.mark.parametrize(
    ("lands_as", "why"),
    [
        ("", "1 characters or more"),
        ("/2026", "single slashes"),
        ("2026/", "single slashes"),
        ("2026//run", "single slashes"),
        (".", "without '.' and '..'"),
        ("2026/../..", "without '.' and '..'"),
        ("2026/./run", "without '.' and '..'"),
        ("a\0b", "NUL"),
        (".cpt-partial-nightly", "partial files"),
        ("2026/.cpt-partial-x/run", "partial files"),
        ("é" * 128, "255 bytes"),
        ("x/" * 600 + "x", "1024 characters"),
    ],
)
def test_a_path_that_does_not_stay_below_the_destination_is_refused_with_what_would_be_right(
    lands_as: str, why: str
) -> None:
    (problem,) = refusal("/data/set", named("/data/run", lands_as))
    assert problem.startswith("$.source.paths[1].as: ")
    assert why in problem


@pytest.mark.parametrize("lands_as", ["run-17", "2026/run-17", "...", "..x/.y", ".cpt", "a b/ü", "é" * 127])
def test_any_other_path_is_accepted_and_written_back(lands_as: str) -> None:
    found = parsed(named("/data/run", lands_as))
    assert found.source.asked_paths == found.to_document()["source"]["paths"] == [named("/data/run", lands_as)]
    assert TransferRequest.from_document(found.to_document()) == found


def test_dots_of_the_path_itself_are_refused_by_its_own_field() -> None:
    (problem,) = refusal(named("/data/../etc", "etc"))
    assert problem.startswith("$.source.paths[0].path: '/data/../etc' contains '..'")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (named("/a", "x"), named("/b", "x"), "both land as 'x'"),
        ("/a/x", named("/b", "x"), "both land as 'x'"),
        (named("/a", "x"), "/b/x", "both land as 'x'"),
        (named("/a", "x"), named("/b", "x/y"), "land as 'x/y' and 'x', one below the other"),
        (named("/a", "x/y"), named("/b", "x"), "land as 'x' and 'x/y', one below the other"),
        # The directory arrives with what it holds, and so with its own mode and time.
        (named("/a", "x"), named("/b/", "x"), "both land as 'x'"),
        (named("/a/", "x/y"), named("/b", "x"), "one below the other"),
        ("/a/x", named("/b/", "x/y"), "one below the other"),
    ],
)
def test_paths_that_meet_are_refused_as_far_as_the_request_tells(first: Any, second: Any, words: str) -> None:
    (problem,) = refusal(first, second)
    assert problem.startswith("$.source.paths[1]: '/b")
    assert words in problem
    assert '"as"' in problem


@pytest.mark.parametrize(
    "paths",
    [
        [named("/a", "x"), named("/b", "x.y"), named("/c", "xy")],
        [named("/a", "x/a"), named("/b", "x/b")],
        # What is in there, the survey of the source knows.
        [named("/a/", "x"), named("/b/", "x"), named("/c", "x/y"), "/d/"],
    ],
)
def test_paths_that_need_not_meet_are_accepted(paths: list[Any]) -> None:
    assert parsed(*paths)


@pytest.mark.parametrize(
    ("paths", "tops", "apart", "above"),
    [
        (["/d/set", named("/d/run", "run-17")], ["set", "run-17"], ["set", "run-17"], []),
        ([named("/d/run", "2026/run")], ["2026/run"], ["2026/run"], ["2026"]),
        ([named("/d/run/", "2026/run")], ["2026/run"], ["2026/run"], ["2026/run"]),
        (["/d/", named("/r", "2026/05/run")], None, ["2026/05/run"], ["2026/05"]),
        ([named("/a/", "x"), named("/b/", "x"), named("/c", "x/y/z")], ["x", "x/y/z"], ["x", "x/y/z"], ["x/y"]),
    ],
)
def test_what_is_mirrored_and_which_directories_lead_there(
    paths: list[Any], tops: list[str] | None, apart: list[str], above: list[str]
) -> None:
    source = parsed(*paths).source
    assert (source.tops, source.apart, source.above) == (tops, apart, above)


def test_a_destination_is_told_of_them_three_times_so_they_count_as_often() -> None:
    long = "/".join(["x" * 250] * 4)
    (problem,) = refusal(*(named(f"/data/{number}", f"{number:02}/{long}") for number in range(40)))
    assert "bytes of JSON together, and 90000 reach the machine" in problem
    assert parsed(*(named(f"/data/{number}", f"{number:02}/{long}") for number in range(25)))


def test_another_place_is_another_transfer_and_another_mirror() -> None:
    plain, one, other = (
        transfer(source=document(path)["source"]) for path in ("/data/x", named("/data/x", "a"), named("/data/x", "b"))
    )
    (line,) = differences(one, other)
    assert line.startswith("$.source.paths: ")
    assert "'as': 'b'" in line
    assert differences(one, one) == []
    assert len({mirror_key(each) for each in (plain, one, other)}) == 3
