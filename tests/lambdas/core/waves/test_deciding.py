"""Waves in memory: from the first look to the cutover, and every way in which they end before."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.waves.asked import WavesRequest
from lambdas.core.waves.deciding import after, begin, next_request, stopped
from lambdas.core.waves.waves import KEPT_STEPS, Ended, Waves
from tests.lambdas.core.waves.test_asked import DIGEST, read

ARN = "arn:aws:states:us-west-2:123456789012:execution:cpt-waves:archive"
OTHER = "0" * 64


def looked(size: int, *, data: float = 1.0, whole: float = 30.0, digest: str | None = None) -> Ended:
    """The report of a dry run: so much is left."""
    action = {"files": 0, "bytes": 0, "seconds": 0, "costUsd": 0}
    left = {
        "files": size // 1000,
        "bytes": size,
        "seconds": data,
        "secondsLow": data,
        "secondsHigh": data,
        "wholeSeconds": whole,
        "wholeSecondsLow": whole,
        "wholeSecondsHigh": whole,
    }
    found: dict[str, Any] = {"new": action, "changed": action, "equal": action, "where": "s3://b/k/", "left": left}
    if digest:
        extras = {"files": 1, "directories": 0, "symlinks": 0, "bytes": 10, "digest": digest, "maxDelete": 1000}
        found["deleted"] = extras
    return _report(0, 10.0, 0.0, 0.001, dryRun=found)


def moved(size: int, seconds: float, data: float, usd: float = 0.01) -> Ended:
    return _report(size, seconds, data, usd)


def _report(size: int, seconds: float, data: float, usd: float, **more: Any) -> Ended:
    report = {
        "status": "SUCCEEDED",
        "files": size // 1000,
        "bytes": size,
        "seconds": {"total": seconds, "transfer": data},
        "cost": {"total": usd},
        **more,
    }
    return Ended.from_document({"report": report})


def failed(error: str, cause: str, status: str = "FAILED") -> Ended:
    """As Step Functions catches the end of an execution that it waited for."""
    told = json.dumps({"ExecutionArn": "…", "Status": status, "Error": error, "Cause": cause})
    return Ended.from_document({"error": {"Error": "States.TaskFailed", "Cause": told}})


def run(asked: WavesRequest, *ends: Ended, known: Waves | None = None) -> Iterator[Waves]:
    """The waves after each step."""
    waves = begin(asked, ARN, known, 100.0)
    yield waves
    for number, ended in enumerate(ends):
        waves = after(asked, waves, ended, 101.0 + number)
        yield waves


def last(asked: WavesRequest, *ends: Ended, known: Waves | None = None) -> Waves:
    *_, waves = run(asked, *ends, known=known)
    return waves


def test_look_and_wave_in_turn_until_what_is_left_is_below_the_bound() -> None:
    asked = read(untilSeconds=25)
    ends = [looked(10**9, data=40.0, whole=70.0), moved(10**9, 60.0, 38.0), looked(10**6, data=1.0)]
    states = list(run(asked, *ends))
    assert [waves.steps[-1].name for waves in states[:3]] == ["archive-look-1", "archive-wave-1", "archive-look-2"]
    assert [(next_request(asked, waves) or {}).get("dryRun") for waves in states] == [True, None, True, None]
    assert states[1].said == "wave 1 moves 1,000,000 files (1 GB), about 1 min 10 s (1 min 03 s to 1 min 17 s)"
    over = states[-1]
    # 22 s of the wave before were not data.
    assert (over.status, over.said) == (
        "CUT_OVER_NOW",
        "cut over now: 1,000 files (1 MB), about 23.0 s (20.7 s to 25.3 s)",
    )
    assert next_request(asked, over) is None
    assert over.spent_usd == pytest.approx(0.012)
    assert [waves.version for waves in states] == [1, 2, 3, 4]


def test_a_bound_by_bytes() -> None:
    asked = read(untilBytes="1MB")
    assert last(asked, looked(10**6 + 1)).status == "RUNNING"
    assert last(asked, looked(10**6)).status == "CUT_OVER_NOW"


def test_a_forecast_spans_what_the_waves_before_took() -> None:
    asked = read(untilBytes=0, mostWaves=2)
    ends = [
        looked(9000),
        moved(9000, 30.0, 10.0),
        looked(4000, data=2.0),
        moved(4000, 12.0, 2.0),
        looked(1000, data=1.0),
    ]
    forecast = last(asked, *ends).steps[-1].forecast
    assert forecast is not None
    assert (forecast.seconds, forecast.low, forecast.high) == (11.0, 9.9, 21.0)


def test_a_wave_that_moved_nothing_tells_nothing_of_the_time_around() -> None:
    waves = last(read(untilSeconds=5, mostWaves=1), looked(9000), moved(0, 9.0, 0.0), looked(9000, whole=30.0))
    assert waves.steps[-1].forecast is not None
    assert waves.steps[-1].forecast.seconds == 30.0


def test_a_source_that_changes_as_fast_as_waves_move_is_named_and_ends_them() -> None:
    ends = [looked(10**9), moved(10**9, 40.0, 20.0), looked(10**8), moved(10**8, 40.0, 20.0), looked(10**8)]
    asked = read(untilBytes=0)
    assert last(asked, *ends).status == "RUNNING", "once may be an accident"
    over = last(asked, *ends, moved(10**8, 40.0, 20.0), looked(12 * 10**7))
    assert over.status == "NOT_YET"
    assert "the source changes as fast as waves move it (100 MB → 100 MB → 120 MB left)" in over.said


def test_waves_end_at_their_number_and_say_what_is_left() -> None:
    asked = read(untilBytes=0, mostWaves=1)
    over = last(asked, looked(10**9), moved(10**9, 40.0, 20.0), looked(10**8))
    assert over.status == "NOT_YET"
    assert over.said.startswith("not below the bound of 0 B after 1 wave: 100,000 files (100 MB), about ")
    assert "1 wave was asked for" in over.said


def test_a_bound_below_what_surrounds_the_data_is_no_reason_for_more_waves() -> None:
    ends = [looked(10**9), moved(10**9, 90.0, 60.0), looked(10**8), moved(10**8, 30.0, 10.0), looked(10**6)]
    assert last(read(untilSeconds=10), *ends[:3]).status == "RUNNING", "a first wave has more to plan and to verify"
    assert last(read(untilSeconds=10), *ends).status == "RUNNING"
    over = last(read(untilSeconds=10), *ends, moved(10**6, 30.0, 10.0), looked(10**5))
    assert over.status == "NOT_YET"
    assert "a wave takes 20.0 s for all but the data, so none comes below that" in over.said


def test_a_look_alone_moves_nothing() -> None:
    over = last(read(mostWaves=0), looked(10**9, whole=90.0))
    assert (over.status, len(over.steps)) == ("NOT_YET", 1)
    assert "no wave was asked for" in over.said


def test_a_wave_that_fails_ends_them_with_its_own_words() -> None:
    asked = read()
    over = last(asked, looked(10**9, whole=90.0), failed("DestinationFull", "no room on /restore"))
    assert (over.status, over.error, over.steps[-1].status) == ("FAILED", "DestinationFull", "FAILED")
    assert over.said == "archive-wave-1 failed: DestinationFull: no room on /restore"
    assert next_request(asked, over) is None


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (failed("User", "changed my mind", "ABORTED"), "failed: User: changed my mind"),
        (Ended.from_document({"error": {"Error": "States.TaskFailed", "Cause": '{"Status": "ABORTED"}'}}), "ABORTED"),
        (
            Ended.from_document(
                {"error": {"Error": "StepFunctions.ExecutionAlreadyExistsException", "Cause": "taken"}}
            ),
            "StepFunctions.ExecutionAlreadyExistsException: taken",
        ),
        (Ended.from_document({"error": {"Error": "States.Timeout"}}), "StepTimedOut"),
        (Ended.from_document({"error": {}}), "UnknownFailure"),
    ],
)
def test_whatever_ends_an_execution_is_told(ended: Ended, words: str) -> None:
    over = last(read(), ended)
    assert over.status == "FAILED"
    assert words in over.said


def test_the_budget_is_one_for_all_waves() -> None:
    asked = read({"objective": {"maxCostUsd": 0.05}}, untilBytes=0)
    second = last(asked, looked(10**9), moved(10**9, 40.0, 20.0, 0.02), looked(10**8))
    assert (next_request(asked, second) or {})["objective"] == {"maxCostUsd": 0.028}
    over = last(asked, looked(10**9), moved(10**9, 40.0, 20.0, 0.06))
    assert (over.status, over.error) == ("FAILED", "BudgetTooSmall")
    assert over.said.startswith("the budget is used up")


def confirmed(asked: WavesRequest | None = None, digest: str = DIGEST) -> Waves:
    return last(asked or read({"delete": True}, untilBytes=0), looked(0, digest=digest))


def cutover(digest: str | None = DIGEST) -> WavesRequest:
    return read({"delete": True, "confirmDelete": digest} if digest else {}, cutOver=True)


def test_the_cutover_takes_the_word_of_the_latest_look_and_ends_the_label() -> None:
    known = confirmed()
    assert known.said.endswith(
        f"deleted by the cutover: 1 entry (1 file of 10 bytes, 0 directories, 0 links); it takes the digest {DIGEST}"
    )
    asked = cutover()
    begun = begin(asked, ARN + "-2", known, 200.0)
    assert (begun.steps[-1].name, begun.version) == ("archive-2-cut-over-1", known.version + 1)
    assert (next_request(asked, begun) or {})["confirmDelete"] == DIGEST
    over = after(asked, begun, moved(1000, 20.0, 1.0), 220.0)
    assert over.status == "CUT_OVER"
    assert over.said.startswith("cut over: 1 file (1 kB) moved, 20.0 s (forecast: ")


def test_a_word_that_was_given_for_an_older_look_is_refused() -> None:
    known = confirmed(digest=OTHER)
    with pytest.raises(
        InvalidRequest, match="is not of the latest look under 'archive', whose extras have the digest 000"
    ):
        begin(cutover(), ARN, known, 200.0)
    with pytest.raises(InvalidRequest, match="it was without delete"):
        begin(cutover(), ARN, last(read(untilBytes=0), looked(0)), 200.0)


def test_there_is_no_cutover_without_a_look_at_these_ends() -> None:
    elsewhere = read({"delete": True, "source": {**read().request["source"], "paths": ["/data/other"]}})
    for known in (None, confirmed(elsewhere), last(read({"delete": True}), failed("SurveyProblem", "gone"))):
        with pytest.raises(InvalidRequest, match="no look at these ends was made under 'archive'"):
            begin(cutover(), ARN, known, 200.0)


def test_a_cutover_that_fails_says_how_to_go_on() -> None:
    known = confirmed()
    over = last(cutover(), failed("DeletionRefused", "other extras"), known=known)
    assert over.status == "FAILED"
    assert over.said.endswith("look again (mostWaves 0), and cut over with the digest that this reports")


def test_steps_go_on_under_the_label_and_those_about_other_ends_are_forgotten() -> None:
    known = last(read(untilBytes=0, mostWaves=1), looked(9000), moved(9000, 30.0, 10.0), looked(4000))
    again = last(read(untilBytes=0, mostWaves=1), looked(4000), known=known)
    assert [step.name for step in again.steps] == [
        *("archive-look-1", "archive-wave-1", "archive-look-2"),
        *("archive-look-3", "archive-wave-2"),
    ]
    assert (len(again.mine), again.status) == (2, "RUNNING")
    elsewhere = read({"source": {**read().request["source"], "paths": ["/data/other"]}})
    assert [step.name for step in last(elsewhere, known=known).steps] == ["archive-look-1"]


def test_a_label_that_is_used_for_years_stays_small() -> None:
    asked, known = read(untilBytes=0), last(read(untilBytes=0), looked(0))
    for _ in range(KEPT_STEPS + 5):
        known = last(asked, looked(0), known=known)
    assert len(known.steps) == KEPT_STEPS + 1
    assert len(known.to_json()) < 100_000


def test_names_of_steps_are_names_of_transfers() -> None:
    arn = ARN.removesuffix("archive") + "a.long_name!" * 6
    assert begin(read(), arn, None, 1.0).steps[0].name == ("a-long_name-" * 6)[:64] + "-look-1"


@pytest.mark.parametrize(("ended", "status"), [("ABORTED", "STOPPED"), ("TIMED_OUT", "FAILED"), ("FAILED", "FAILED")])
def test_waves_that_are_stopped_say_so_and_what_ran_has_ended_with_them(ended: str, status: str) -> None:
    asked = read(untilBytes=0)
    running = after(asked, begin(asked, ARN, None, 1.0), looked(9000), 5.0)
    over = stopped(running, ended, f"{ended}: by hand", 9.0)
    assert (over.status, over.version, over.updated_at) == (status, running.version + 1, 9.0)
    assert [step.status for step in over.steps] == ["SUCCEEDED", "STOPPED"]
    assert over.said.startswith(f"the execution of the waves ended as {ended}: by hand\n")
    again = begin(asked, f"{ARN}-2", over, 20.0)
    assert [step.name for step in again.steps] == ["archive-look-1", "archive-wave-1", "archive-2-look-2"]
    assert again.status == "RUNNING"
