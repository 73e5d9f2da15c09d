"""A transfer in the pool's queue: its order, when it asks again, what people read."""

import pytest

from lambdas.core.pool.place_in_queue import PoolTurn, QueuedTransfer, seconds_until_next_look
from lambdas.core.pool.queue import Class, Terms, ordered
from tests.lambdas.builders import IRELAND, WEST


@pytest.mark.parametrize(("waited", "seconds"), [(0.0, 5.0), (100.0, 5.0), (200.0, 10.0), (100_000.0, 900.0)])
def test_it_asks_again_after_a_twentieth_of_what_it_has_waited(waited: float, seconds: float) -> None:
    assert seconds_until_next_look(1000.0, 1000.0 + waited) == seconds


def test_people_read_its_place_and_when_its_turn_is_expected() -> None:
    turn = PoolTurn(at=100.0, position=2, waiting=3, starts_at=190.0)
    assert turn.words == "place 2 of 3 in the pool's queue, its turn in about 1 min 30 s"
    assert PoolTurn.from_document(turn.to_document()) == turn


def test_whoever_has_waited_for_a_low_price_is_in_no_hurry() -> None:
    ranks: list[tuple[str, float, Class]] = [("patient", 1.0, "background"), ("usual", 2.0, "normal")]
    places = [
        QueuedTransfer(
            transfer_id=name,
            tenant="operator",
            regions=[WEST, IRELAND],
            asked_at=at,
            rank=rank,
            wanted_bytes=1,
            seconds=1.0,
            until=9.0,
        )
        for name, at, rank in ranks
    ]
    turns = ordered([one.waiting for one in places], {}, {"operator": Terms()}, 3.0)
    assert [one.transfer for one in turns] == ["usual", "patient"]
