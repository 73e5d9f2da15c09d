"""Turns of all transfers at RunInstances, so that together they call no faster than EC2 answers in a region.

EC2 has a bucket of five calls for each region of an account, which fills with two a second. A call that finds it empty
is refused; whoever then comes again at random loses against those who have only begun. In turns nobody is refused, and
everybody knows how long to wait. Times are Unix seconds.
"""

from pydantic import Field

from lambdas.core.documents import Count, Document

# One in twenty is left to those who launch beside us, and so is one call of the bucket.
CALLS_PER_SECOND = 1.9
BURST = 4
STEP = 1 / CALLS_PER_SECOND
EARLY = (BURST - 1) * STEP
# EC2 refuses although it is our turn: others use up its bucket, or it is disturbed. Two minutes are waited for it.
MOST_REFUSALS = 15


class LaunchQueue(Document):
    """What a launch that waits keeps: when the turn of each stage comes, by its index, and how often EC2 refused it."""

    due: dict[str, float] = Field(default_factory=dict)
    refusals: Count = 0


def next_turn(following: float | None, now: float) -> tuple[float, float]:
    """When the next call may be made, and what then follows; `following`: what followed the last one, None for none.

    Where nobody has called for a while, some calls may be made at once.
    """
    at = max(following or now, now)
    return max(at - EARLY, now), at + STEP


def after_refusal(turn: float, now: float, refusals: int) -> float:
    """When to call again after the n-th refusal; `turn`: the next one that is free."""
    return max(turn, now + refusals)
