import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import CommandFailed, CptError, DestinationTooSmall, SurveyProblem, TransferFenced
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.handlers.states.finish_survey import FinishInput, finish_survey
from tests.lambdas.builders import SHARED, WEST, delivered, open_survey, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import failed, printed


def scanning(*, answers: bool = True) -> tuple[Cloud, FinishInput]:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.commands[WEST].scripts["scan"] = lambda _: None
    source = transfer().at_source
    answer_id = "0123456789abcdef" if answers else None
    place = f"{WEST} cpt-transfers {SHARED} {answer_id}" if answers else None
    command_id = cloud.commands[WEST].send("scan", [source.instance_id], "first", None, answer=place)
    opened = open_survey().model_copy(update={"command_id": command_id, "answer_id": answer_id})
    return cloud, FinishInput(transfer=transfer(), survey=opened)


def ended(result: CommandResult) -> tuple[Cloud, Estimate]:
    cloud, event = scanning()
    cloud.clock.at(60.0, lambda: cloud.commands[WEST].end(event.survey.command_id, result))
    return cloud, finish_survey(event, cloud.world)


def test_the_estimate_is_of_the_whole_listing() -> None:
    cloud, found = ended(printed(survey(9, size=7 * 10**9).source.to_document()))
    assert found.bytes == 7 * 10**9
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_a_listing_that_was_begun_before_there_were_answers_is_the_output_of_its_command() -> None:
    cloud, event = scanning(answers=False)
    done = printed(survey(9).source.to_document())
    cloud.clock.at(60.0, lambda: cloud.commands[WEST].end(event.survey.command_id, done))
    assert finish_survey(event, cloud.world).bytes == 10**9


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"problems": [{"path": "/s", "reason": "Permission denied"}], "problemCount": 1}, SurveyProblem, "let root"),
        ({"bytes": 10**13}, DestinationTooSmall, "bytes free"),
    ],
)
def test_what_stands_in_the_way_has_the_words_of_survey_ends(
    changed: dict[str, object], error: type[CptError], words: str
) -> None:
    with pytest.raises(error, match=words):
        ended(printed({**survey().source.to_document(), **changed}))


def test_a_scan_that_fails_fails_the_transfer() -> None:
    with pytest.raises(CommandFailed, match="ended with Failed: no disk"):
        ended(failed("no disk"))


def test_where_the_ends_have_failed_nobody_waits_for_the_listing() -> None:
    cloud, event = scanning()
    cloud.clock.at(5.0, lambda: cloud.transfers.change(transfer(), transfer_life.finish(Outcome(error="EndSilent"))))
    with pytest.raises(TransferFenced, match="before its listing"):
        finish_survey(event, cloud.world)
    assert cloud.clock.time < 1010


def test_the_estimate_is_made_though_all_has_arrived_before_the_listing_was_surveyed() -> None:
    cloud, event = scanning()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    done = printed(survey(9).source.to_document())
    cloud.clock.at(5.0, lambda: cloud.commands[WEST].end(event.survey.command_id, done))
    assert finish_survey(event, cloud.world).bytes == 10**9
