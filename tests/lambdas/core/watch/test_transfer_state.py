"""What people see while S3 restores archived objects."""

from typing import Any

import pytest

from lambdas.core.ends.archived import Amount, RestoreWish
from lambdas.core.restores.summary import Restores
from lambdas.core.watch.transfer_state import TransferState, state_of

FOUND = Restores.of({"GLACIER": Amount(1_000, 10**9)}, RestoreWish())
ASKED = FOUND.asked_from(1_795_000_000.0, RestoreWish()).model_copy(update={"asked": 1_000, "ready": 120})
OVER = {"enteredAt": 1, "leftAt": 2}


def seen(restores: Restores, **stages: Any) -> TransferState:
    transfer = {
        "status": "ACTIVE",
        "restores": restores.to_document(),
        "stages": stages,
        "source": [],
        "destination": [],
    }
    return state_of("first", {"transfer": transfer}, [])


def test_who_watches_sees_how_many_are_ready_and_when_all_usually_are() -> None:
    told = seen(ASKED, **{"Restore Objects": OVER}).doing
    assert told == (
        "S3 restores archived objects: 120 of 1,000 objects ready, usually all by 18 Nov 2026, 16:06:40 UTC"
    )


@pytest.mark.parametrize("later", ["Plan Chunks", "List Objects", "Tear Down"])
def test_what_comes_after_it_is_seen_in_its_place(later: str) -> None:
    assert seen(ASKED, **{later: {"enteredAt": 3}}).doing == later


def test_nothing_is_said_before_s3_was_asked() -> None:
    assert seen(FOUND, **{"Survey Ends": {"enteredAt": 3}}).doing == "Survey Ends"
