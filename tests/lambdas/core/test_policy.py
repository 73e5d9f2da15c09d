import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.policy import MAX_ATTEMPTS, GiveUp, TryAgain, after_failure, worth_replacing

REASONS = [
    "checksum-mismatch",
    "stream-lost",
    "source-changed",
    "source-unreadable",
    "destination-error",
    "lease-expired",
]


@given(st.sampled_from(REASONS))
def test_every_chunk_ends(reason: str) -> None:
    decisions = [after_failure(attempt, reason) for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert isinstance(decisions[-1], GiveUp)
    assert sum(decision.delay for decision in decisions if isinstance(decision, TryAgain)) <= 15


@pytest.mark.parametrize(
    ("remaining", "rate", "spawn", "generation", "worth"),
    [
        (10**9, 20, 5, 0, True),
        (10**9, 20, 60, 0, False),
        (0, 20, 5, 0, False),
        (10**9, 0, 5, 0, True),
        (10**12, 20, 5, 2, False),
    ],
)
def test_replacement_pays_if_the_rest_lasts_longer_than_the_spawn(
    remaining: int, rate: float, spawn: float, generation: int, worth: bool
) -> None:
    assert worth_replacing(remaining, rate, spawn, generation) is worth
