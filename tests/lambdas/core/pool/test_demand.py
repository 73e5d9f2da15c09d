"""What a lease could use is told from what it has used."""

import pytest

from lambdas.core.pool import demand
from lambdas.core.pool.lease_share import LeaseShare
from tests.lambdas.core.pool.leases import lease, node

MB = 1_000_000


def share(mb_s: float = 100.0) -> LeaseShare:
    return LeaseShare.of_new(lease("a", node(), mb_s))


@pytest.mark.parametrize(
    ("mb_s", "expected"),
    [(100.0, None), (66.0, None), (40.0, 60.0), (0.0, demand.LEAST_MB_S)],
    ids=["held back by its limit", "nearly so", "less than it may", "still"],
)
def test_who_uses_less_than_he_may_leaves_the_rest_to_others(mb_s: float, expected: float | None) -> None:
    # Both ways, over a minute.
    moved = int(mb_s * MB * 60 * 2)
    found = demand.counted(share(), moved, 60.0)
    assert (found.demand_mb_s, found.moved, found.counted_at) == (expected, moved, 60.0)


def test_over_a_few_seconds_nothing_is_told() -> None:
    assert demand.counted(share(), 5 * MB, demand.LEAST_SECONDS - 1) == share()


def test_a_daemon_that_counts_from_nothing_again_has_moved_nothing() -> None:
    before = share().model_copy(update={"moved": 10 * MB})
    assert demand.counted(before, 0, 60.0).demand_mb_s == demand.LEAST_MB_S
