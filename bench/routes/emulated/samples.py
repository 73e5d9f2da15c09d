"""What had arrived when. Pure."""

from collections.abc import Sequence


def at(samples: Sequence[Sequence[float]], seconds: float) -> float:
    """MB that had arrived at a moment: between two samples evenly, after the last one what that says.

    A sample is seconds and MB; before the first one there was nothing at second 0.
    """
    before: Sequence[float] = (0.0, 0.0)
    for sample in samples:
        if sample[0] >= seconds:
            span = sample[0] - before[0]
            share = (seconds - before[0]) / span if span > 0 else 1.0
            return before[1] + (sample[1] - before[1]) * share
        before = sample
    return before[1]
