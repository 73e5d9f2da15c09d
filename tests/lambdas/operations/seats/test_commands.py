"""Commands that an SSM agent does not start in time: sent again, or told as what they are."""

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import AgentBusy, CommandFailed, SurveyProblem
from lambdas.core.seats.answers import Answer
from lambdas.operations.seats.commands import Order, answer, run_all
from tests.lambdas.builders import DESTINATION_ID, IRELAND, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import printed

NEVER_STARTED = CommandResult(False, "Delivery Timed Out", "", "", started=False)
ORDER = Order.on(transfer().at_destination, "probe", {"role": "probe"})


def run(cloud: Cloud, seconds: float = 100.0) -> dict[str, object]:
    return answer(ORDER, *run_all(cloud.world, transfer(), [ORDER], seconds))


def test_command_that_was_not_started_is_sent_again_in_the_time_that_is_left() -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    results = iter([NEVER_STARTED, NEVER_STARTED, printed({"ok": 3})])
    commands.scripts["probe"] = lambda _: next(results)
    began = cloud.clock.monotonic()
    assert run(cloud) == {"ok": 3}
    assert commands.commands == 3
    waited = cloud.clock.monotonic() - began
    assert commands.given[0] == 100.0
    assert commands.given[-1] >= 100.0 - waited
    assert commands.given == sorted(commands.given, reverse=True)


def test_agent_that_starts_nothing_is_named_and_the_command_cancelled() -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    commands.busy.add(DESTINATION_ID)
    with pytest.raises(AgentBusy, match=f"the SSM agent of {DESTINATION_ID}.*is busy.*list-command-invocations"):
        run(cloud)
    assert len(commands.cancelled) == commands.commands == 1


def test_command_that_is_refused_until_its_time_is_up_is_no_failure_of_the_daemon() -> None:
    cloud = Cloud()
    cloud.commands[IRELAND].scripts["probe"] = lambda _: NEVER_STARTED
    began = cloud.clock.monotonic()
    with pytest.raises(AgentBusy):
        run(cloud)
    assert 100 <= cloud.clock.monotonic() - began < 120


def test_command_that_runs_for_too_long_has_failed_and_is_cancelled_too() -> None:
    cloud = Cloud()
    stop = Order.on(transfer().at_destination, "stop")
    cloud.commands[IRELAND].scripts["stop"] = lambda _: None
    with pytest.raises(CommandFailed, match="no result within 100 s"):
        answer(stop, *run_all(cloud.world, transfer(), [stop], 100.0))
    assert len(cloud.commands[IRELAND].cancelled) == 1


def test_answer_of_a_unit_is_read_from_the_table_long_after_its_command_has_ended() -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    commands.scripts["probe"] = lambda _: None
    cloud.clock.at(70, lambda: commands.end("command-1-eu-west-1", printed({"reachable": True})))
    assert run(cloud) == {"reachable": True}
    assert commands.result("command-1-eu-west-1", DESTINATION_ID) == printed({"started": "unit"})


def test_unit_that_never_answers_has_failed_and_its_command_is_left_alone() -> None:
    cloud = Cloud()
    cloud.commands[IRELAND].scripts["probe"] = lambda _: None
    with pytest.raises(CommandFailed, match="no result within 100 s"):
        run(cloud)
    assert cloud.commands[IRELAND].cancelled == []


@pytest.mark.parametrize(("code", "told"), [(1, "Failed: no room"), (137, r"Failed \(signal 9\): no room")])
def test_unit_that_fails_says_why(code: int, told: str) -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    commands.scripts["probe"] = lambda _: None
    failure = Answer(code=code, output="", error="no room")
    cloud.clock.at(5, lambda: commands.answers.update(dict.fromkeys(commands.places, failure)))
    with pytest.raises(CommandFailed, match=told):
        run(cloud)


def test_what_the_daemon_calls_a_problem_of_the_survey_is_one() -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    commands.scripts["probe"] = lambda _: None
    failure = Answer(code=1, output="", error="INFO looks\ncpt-relay: SurveyProblem: /etc/hadoop: no name node\n")
    cloud.clock.at(5, lambda: commands.answers.update(dict.fromkeys(commands.places, failure)))
    with pytest.raises(SurveyProblem, match=r"probe on i-\w+ \(eu-west-1\): /etc/hadoop: no name node$"):
        run(cloud)


def test_document_of_an_earlier_version_prints_its_answer() -> None:
    cloud = Cloud()
    commands = cloud.commands[IRELAND]
    commands.older = True
    commands.scripts["probe"] = lambda _: printed({"reachable": True})
    assert run(cloud) == {"reachable": True}
    assert (commands.commands, commands.places) == (1, [])


def test_each_command_has_an_answer_of_its_own() -> None:
    cloud = Cloud()
    run_all(cloud.world, transfer(), [ORDER, ORDER], 100.0)
    places = cloud.commands[IRELAND].places
    assert len(places) == len(set(places)) == 2
