from collections.abc import Callable
from typing import Any

import pytest

from lambdas.core.errors import DestinationBusy, DestinationTaken, DestinationTooSmall, SurveyProblem
from lambdas.core.survey.survey import Survey
from lambdas.handlers.states.survey_ends import SurveyInput
from lambdas.handlers.states.survey_measured_ends import survey_measured_ends
from tests.lambdas.builders import IRELAND, WEST, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import printed


def surveyed(
    source: dict[str, Any] | None = None,
    destination: dict[str, Any] | None = None,
    before: Callable[[Cloud], None] = lambda cloud: None,
) -> tuple[Cloud, Survey]:
    cloud, good, asked = Cloud(), survey(1), transfer(profile="measure", emptySource="fail")
    cloud.transfers.create(asked)
    before(cloud)
    cloud.commands[WEST].scripts["scan"] = lambda _: printed({**good.source.to_document(), **(source or {})})
    cloud.commands[IRELAND].scripts["scan"] = lambda _: printed(
        {**good.destination.to_document(), **(destination or {})}
    )
    return cloud, survey_measured_ends(SurveyInput(transfer=asked), cloud.world)


def test_measuring_needs_no_file() -> None:
    cloud, _ = surveyed({"files": 0, "symlinks": 0, "bytes": 0})
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.empty_source is None


def test_where_nothing_is_moved_but_measured_nothing_is_compared() -> None:
    cloud, _ = surveyed(destination={"occupied": True})
    assert [document for document, _, _ in cloud.commands[IRELAND].sent] == ["scan"]
    with pytest.raises(DestinationTooSmall):  # all of the source counts
        surveyed(destination={"occupied": True, "freeBytes": 1})


def test_listing_is_waited_for_and_never_followed() -> None:
    cloud, _ = surveyed()
    ((_, _, command),) = cloud.commands[WEST].sent
    assert command is not None
    assert "announce" not in command


def test_what_is_wrong_at_an_end_ends_it() -> None:
    with pytest.raises(SurveyProblem, match="read-only"):
        surveyed(destination={"problems": [{"path": "/data", "reason": "read-only"}], "problemCount": 1})


def test_destination_of_another_transfer_is_left_alone() -> None:
    def held(cloud: Cloud) -> None:
        asked = transfer().request.destination
        cloud.locks.acquire(asked.lock_ids[0], asked.lock_path, "other")

    with pytest.raises((DestinationBusy, DestinationTaken)):
        surveyed(before=held)
