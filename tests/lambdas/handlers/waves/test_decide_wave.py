"""The state that decides: one execution at a time has a label, and a call that is repeated changes nothing more."""

from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest, TransferRunning
from lambdas.core.waves.waves import Ended, Waves
from lambdas.handlers.waves.decide_wave import WaveDecision, WaveInput, decide_wave
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.waves.test_asked import REQUEST
from tests.lambdas.core.waves.test_deciding import ARN, failed, looked, moved

ASKED: dict[str, Any] = {"label": "archive", "untilBytes": 1000, "request": REQUEST}


def decide(cloud: Cloud, waves: Waves | None = None, ended: Ended | None = None, arn: str = ARN) -> WaveDecision:
    return decide_wave(WaveInput(asked=ASKED, execution_arn=arn, waves=waves, ended=ended), cloud.world)


def test_each_step_is_noted_under_the_label_and_the_end_is_told() -> None:
    cloud = Cloud()
    first = decide(cloud)
    assert first.next is not None
    assert (first.next.name, first.next.request["dryRun"]) == ("archive-look-1", True)
    assert cloud.waves.of("archive") == first.waves
    second = decide(cloud, first.waves, looked(10**6))
    assert second.next is not None
    assert second.next.name == "archive-wave-1"
    third = decide(cloud, second.waves, moved(10**6, 20.0, 4.0))
    assert cloud.events.put_events == []
    over = decide(cloud, third.waves, looked(1000))
    assert over.next is None
    assert cloud.waves.of("archive") == over.waves
    [(kind, told)] = cloud.events.put_events
    assert kind == "Waves Ended"
    assert (told["label"], told["status"], told["cause"]) == ("archive", "CUT_OVER_NOW", over.waves.said)


def test_a_call_whose_answer_was_lost_is_answered_again_in_the_same_way() -> None:
    cloud = Cloud()
    first = decide(cloud)
    cloud.clock.sleep(3.0)
    assert decide(cloud) == first
    second = decide(cloud, first.waves, looked(10**6))
    cloud.clock.sleep(3.0)
    assert decide(cloud, first.waves, looked(10**6)) == second


def test_waves_run_once_under_a_label_until_their_execution_is_over() -> None:
    cloud = Cloud()
    first = decide(cloud)
    with pytest.raises(TransferRunning, match="waves run under 'archive' already"):
        decide(cloud, arn=ARN + "-2")
    assert cloud.waves.of("archive") == first.waves
    cloud.executions.statuses[ARN] = "ABORTED"
    second = decide(cloud, arn=ARN + "-2")
    assert second.waves.execution_arn == ARN + "-2"
    with pytest.raises(TransferRunning):
        decide(cloud, first.waves, looked(10**6))


def test_of_two_that_begin_at_the_same_moment_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    decide(cloud)
    monkeypatch.setattr(cloud.waves, "of", lambda _: None)
    with pytest.raises(TransferRunning):
        decide(cloud, arn=ARN + "-2")


def test_a_label_is_free_again_once_waves_have_failed() -> None:
    cloud = Cloud()
    over = decide(cloud, decide(cloud).waves, failed("SurveyProblem", "/data/set: no such file or directory"))
    assert over.waves.status == "FAILED"
    assert decide(cloud, arn=ARN + "-2").waves.status == "RUNNING"


def test_what_is_wrong_is_refused_and_leaves_no_note() -> None:
    cloud = Cloud()
    with pytest.raises(InvalidRequest):
        decide_wave(WaveInput(asked={"label": "archive"}, execution_arn=ARN), cloud.world)
    assert cloud.waves.latest(10) == []
