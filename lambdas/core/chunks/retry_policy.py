"""The decision after a chunk's failed attempt: another attempt after a pause, or none."""

from dataclasses import dataclass

MAX_ATTEMPTS = 5
# 1 + 2 + 4 + 8 s of back-off before the fifth and last attempt: 15 s in all.
BACK_OFF_SECONDS = 1.0
# The source's own faults do not go away by sending again; one more try covers a file caught while it was written.
MAX_SOURCE_ATTEMPTS = 2
SOURCE_REASONS = frozenset({"source-changed", "source-unreadable"})


@dataclass(frozen=True)
class TryAgain:
    """PENDING again after `delay` seconds."""

    delay: float


@dataclass(frozen=True)
class GiveUp:
    """FAILED with `reason`."""

    reason: str


def after_failure(attempt: int, reason: str) -> TryAgain | GiveUp:
    """Decide for `attempt` (from 1) that failed with `reason`."""
    most = MAX_SOURCE_ATTEMPTS if reason in SOURCE_REASONS else MAX_ATTEMPTS
    if attempt >= most:
        return GiveUp(f"{reason} after {attempt} attempts")
    return TryAgain(BACK_OFF_SECONDS * 2 ** (attempt - 1))
