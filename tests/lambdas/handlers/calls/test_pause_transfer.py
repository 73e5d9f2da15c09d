import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from lambdas.core.errors import NoSuchTransfer, NotMoving
from lambdas.core.record import transfer_life
from lambdas.handlers.calls.pause_transfer import PauseRequest, pause_transfer
from lambdas.handlers.calls.unpause_transfer import unpause_transfer
from lambdas.operations.fleet import membership
from tests.lambdas.builders import SHARED, delivered, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin, spawned
from tests.paths import CONTRACTS

FIRST = PauseRequest(transfer_id="first")
EXAMPLES = CONTRACTS / "examples"


def is_paused(cloud: Cloud) -> bool:
    followed = cloud.agents.membership(SHARED)
    assert followed is not None
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.paused == bool(followed.paused)
    return record.paused


def test_the_senders_are_told_and_a_look_is_asked_for() -> None:
    cloud = spawned(1)
    assert pause_transfer(FIRST, cloud.world) == {"transferId": "first", "paused": True, "changed": True}
    assert is_paused(cloud)
    assert cloud.events.put_events[-1][0] == "Look Due"
    assert pause_transfer(FIRST, cloud.world)["changed"] is False
    assert is_paused(cloud)


def test_one_that_has_no_first_byte_yet_begins_paused() -> None:
    cloud = Cloud()
    begin(cloud, transfer())
    pause_transfer(FIRST, cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    membership.begin(cloud.world, record)  # type: ignore[arg-type]
    assert is_paused(cloud)


def test_one_that_is_paused_as_its_senders_begin_is_paused() -> None:
    cloud = Cloud()
    begin(cloud, transfer())
    read_before = cloud.transfers.get("first")
    pause_transfer(FIRST, cloud.world)
    membership.begin(cloud.world, read_before)  # type: ignore[arg-type]
    assert is_paused(cloud)


@pytest.mark.parametrize("ended", ["finish", "fence"])
def test_one_that_is_over_or_taken_down_is_left_alone(ended: str) -> None:
    cloud = spawned(1)
    over = transfer_life.finish(delivered()) if ended == "finish" else transfer_life.FENCE
    cloud.transfers.change(transfer(), over)
    for call in (pause_transfer, unpause_transfer):
        with pytest.raises(NotMoving, match="'first' is over, or is being taken down"):
            call(FIRST, cloud.world)
    followed = cloud.agents.membership(SHARED)
    assert followed is not None
    assert followed.paused is None


def test_measuring_is_not_paused() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(profile="measure"))
    with pytest.raises(NotMoving, match="moves nothing"):
        pause_transfer(FIRST, cloud.world)


def test_daemons_of_an_earlier_version_are_not_said_to_pause() -> None:
    cloud = spawned(1)
    cloud.agents.progresses[(SHARED, "s0")] = progress(1).model_copy(update={"membership_version": None})
    with pytest.raises(NotMoving, match="its daemons know no pause"):
        pause_transfer(FIRST, cloud.world)
    cloud.agents.progresses[(SHARED, "s0")] = progress(1).model_copy(update={"membership_version": 1})
    assert pause_transfer(FIRST, cloud.world)["changed"]


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(NoSuchTransfer, match="there is no transfer 'first'"):
        pause_transfer(FIRST, Cloud().world)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("good/pause-request/*.json")), ids=lambda path: path.stem)
def test_good_example_is_read(path: Path) -> None:
    document = json.loads(path.read_text())
    assert PauseRequest.from_document(document).transfer_id == document["transferId"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad/pause-request/*.json")), ids=lambda path: path.stem)
def test_bad_example_is_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        PauseRequest.from_document(json.loads(path.read_text()))
