"""What people see of a transfer that waits: for S3's restores, for a price of the pool, for its turn there."""

from typing import Any

import pytest

from lambdas.core.ends.archived import Amount, RestoreWish
from lambdas.core.pool.place_in_queue import PoolTurn
from lambdas.core.pool.price_wait import PriceWait
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


def waiting(stages: dict[str, Any], **documents: Any) -> TransferState:
    transfer = {"status": "ACTIVE", "stages": stages, "source": [], "destination": []}
    told = {name: document.to_document() for name, document in documents.items()}
    return state_of("first", {"transfer": {**transfer, **told}}, [])


def test_who_waits_for_a_price_is_seen_to_until_it_starts() -> None:
    wait = PriceWait(since=1.0, until=100.0, most_usd_per_gb=0.002, usd_per_gb=0.003, wait_seconds=60)
    assert waiting({"Await Price": OVER}, priceWait=wait).doing == wait.words
    started = wait.model_copy(update={"wait_seconds": None})
    assert waiting({"Await Price": OVER, "Survey Ends": {"enteredAt": 3}}, priceWait=started).doing == "Survey Ends"


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        (
            {"Start Transfer": {"enteredAt": 3}, "Spawn Relays": {"enteredAt": 4, "leftAt": 5}},
            "Start Transfer, place 2 of 3 in the pool's queue, its turn in about 5 min 00 s",
        ),
        ({"Start Transfer": {"enteredAt": 3}, "Await Relays": {"enteredAt": 6}}, "Start Transfer, Await Relays"),
        ({"Verify Transfer": {"enteredAt": 9}}, "Verify Transfer"),
    ],
)
def test_a_place_in_the_queue_is_seen_while_it_is_waited_for(stages: dict[str, Any], words: str) -> None:
    turn = PoolTurn(at=5.0, position=2, waiting=3, starts_at=305.0)
    assert waiting(stages, poolTurn=turn).doing == words
