from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.chunks.retry_policy import MAX_ATTEMPTS, GiveUp, TryAgain, after_failure

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
