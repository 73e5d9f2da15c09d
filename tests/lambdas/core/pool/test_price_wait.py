"""How long a transfer waits between two looks at the pool's price."""

import pytest

from lambdas.core.pool.price_wait import PriceWait, seconds_until_next_look


@pytest.mark.parametrize(
    ("waited", "left", "seconds"),
    [
        (0.0, 86_400.0, 60),
        (1_200.0, 86_400.0, 60),
        (7_200.0, 86_400.0, 360),
        (200_000.0, 86_400.0, 1_800),
        (0.0, 12.5, 12),
        (0.0, -5.0, 1),
    ],
)
def test_looks_come_each_minute_at_first_and_never_after_the_latest_start(
    waited: float, left: float, seconds: int
) -> None:
    now = 1000.0 + waited
    assert seconds_until_next_look(1000.0, now + left, now) == seconds


def test_people_read_what_it_waits_for() -> None:
    found = PriceWait(since=0.0, until=60.0, most_usd_per_gb=0.002, usd_per_gb=0.0031, wait_seconds=60)
    assert found.words == "waits for $0.002 per GB through the pool, now $0.0031"
    assert PriceWait.from_document(found.to_document()) == found
    assert "no pool has a price yet" in found.model_copy(update={"usd_per_gb": None}).words
