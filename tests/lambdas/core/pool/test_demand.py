"""What a lease could use is told from what it has used."""

from typing import Any

import pytest

from lambdas.core.pool import demand
from lambdas.core.pool.lease_share import LeaseShare
from lambdas.core.pool.pool_node import Lease
from tests.lambdas.core.pool.leases import lease, node

MB = 1_000_000


def share(mb_s: float = 100.0) -> LeaseShare:
    return LeaseShare.of_new(lease("a", node(), mb_s))


def having(moved: int, **changes: Any) -> Lease:
    """The same lease when it has moved so many bytes, both ways."""
    return lease("a", node(), bytes=moved, **changes)


@pytest.mark.parametrize(
    ("mb_s", "expected"),
    [(100.0, None), (66.0, None), (40.0, 60.0), (0.0, demand.LEAST_MB_S)],
    ids=["held back by its limit", "nearly so", "less than it may", "still"],
)
def test_who_uses_less_than_he_may_leaves_the_rest_to_others(mb_s: float, expected: float | None) -> None:
    # Both ways, over a minute.
    moved = int(mb_s * MB * 60 * 2)
    found = demand.counted(share(), having(moved), 100.0, 60.0)
    assert (found.demand_mb_s, found.moved, found.counted_at) == (expected, moved, 60.0)


def test_on_a_small_node_whoever_stands_still_is_left_a_hundredth_of_it() -> None:
    assert demand.counted(share(4.0), having(0), 4.0, 60.0).demand_mb_s == pytest.approx(0.04)


def test_over_a_few_seconds_nothing_is_told() -> None:
    assert demand.counted(share(), having(5 * MB), 100.0, demand.FIRST_SECONDS - 1) == share()
    later = share().model_copy(update={"moved": MB, "counted_at": 100.0})
    assert demand.counted(later, having(5 * MB), 100.0, 100.0 + demand.LEAST_SECONDS - 1) == later


def test_the_time_before_it_listens_says_nothing() -> None:
    waits = demand.counted(share(), having(0, listening_at=None), 100.0, 60.0)
    assert (waits.demand_mb_s, waits.counted_at) == (None, 60.0)
    # At 70 it listens, and moves as much as it may from then on.
    listens = having(int(2 * 100 * MB * 45), listening_at=70.0)
    assert demand.counted(waits, listens, 100.0, 110.0) == waits
    assert demand.counted(waits, listens, 100.0, 115.0).demand_mb_s is None


def test_a_daemon_that_counts_from_nothing_again_has_moved_nothing() -> None:
    before = share().model_copy(update={"moved": 10 * MB})
    assert demand.counted(before, having(0), 100.0, 60.0).demand_mb_s == demand.LEAST_MB_S
