"""kill -9 of any daemon at counted moments: what has arrived stays, the rest comes, nothing is half."""

import random
from pathlib import Path

import pytest

from tests.chaos.extent import cases, only_full
from tests.chaos.transfer import ENDS, ROLES, under_way

MOMENTS = 50
"""Of each role, evenly over the transfer: 200 in all."""
KILLS = 5
"""In one transfer."""
ROUNDS = MOMENTS // KILLS


@pytest.mark.parametrize("turn", cases(range(ROUNDS), [4]))
@pytest.mark.parametrize("role", ROLES)
def test_killed_five_times(tmp_path: Path, source: Path, role: str, turn: int) -> None:
    with under_way(tmp_path, source) as transfer:
        for kill in range(KILLS):
            moment = (kill * ROUNDS + turn) * transfer.table.chunks // (MOMENTS - 1)
            if transfer.wait_until_delivered(moment):
                transfer.kill_and_start_again(role)
        transfer.check_arrived()


@only_full
@pytest.mark.parametrize("seed", range(10))
def test_any_daemon_killed_at_any_moment(tmp_path: Path, source: Path, seed: int) -> None:
    draw = random.Random(seed)
    with under_way(tmp_path, source) as transfer:
        for moment in sorted(draw.sample(range(transfer.table.chunks + 1), KILLS)):
            if transfer.wait_until_delivered(moment):
                transfer.kill_and_start_again(draw.choice(ROLES))
        transfer.check_arrived()


def test_both_ends_killed_at_once(tmp_path: Path, source: Path) -> None:
    with under_way(tmp_path, source) as transfer:
        assert transfer.wait_until_delivered(transfer.table.chunks // 2)
        for role in ENDS:
            transfer.daemons[role].kill()
        for role in ENDS:
            transfer.kill_and_start_again(role)
        transfer.check_arrived()
