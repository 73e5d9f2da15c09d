"""Whether the choice of relays hangs on something that nobody knows yet, and on what."""

from collections.abc import Sequence

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.figures import Bound, Figure, Figures
from lambdas.core.models.models import LEAST_GAIN

# Machines that are alike are alike in what is not known of them, so both ends vary together.
_UNKNOWNS = (
    (("source", "destination"), "sourceMBps", "what the ends send and receive in all"),
    (("direct",), "directMBps", "what the direct path carries"),
    (("pair",), "pairMBps", "what {} relays carries"),
    (("source_disk", "destination_disk"), "sourceDiskMBps", "what the disks read and write"),
    (("files",), "filesMBps", "how fast files as small as these are made"),
    (("source_processor", "destination_processor"), "sourceProcessorMBps", "what the processors of the ends hash"),
)


class Undecided(Document):
    """Contract `estimate`, `undecided`: the choice hangs on a figure that nobody knows well enough.

    `decided_by`: its key in `figures`. `pairs`: rows that may turn out to be the best, fewest pairs first; a transfer
    may begin with any of them and choose again once it knows. `question`: for people.
    """

    decided_by: str
    pairs: list[Count] = Field(min_length=2)
    question: str


def undecided(size_bytes: int, most_pairs: int, figures: Figures) -> Undecided | None:
    """The unknown that decides whether relays, or more of them, help: the one that moves the time most; None for none.

    What was measured and varies decides no number: looking at it once more tells as little. Nor does what may make some
    relays needless: they cost cents, and what is missing costs time.
    """
    expected = _best(size_bytes, most_pairs, figures)
    found: list[tuple[float, Undecided]] = []
    for names, key, words in _UNKNOWNS:
        open_ones = [(name, figure) for name in names if (figure := getattr(figures, name)) and figure.is_open]
        if not open_ones:
            continue
        choices, times = {expected[0]}, []
        bounds: tuple[Bound, Bound] = ("low", "high")
        for bound in bounds:
            changed = figures.model_copy(update={name: figure.at(bound) for name, figure in open_ones})
            pairs, seconds = _best(size_bytes, most_pairs, changed)
            choices.add(pairs)
            times.append(seconds)
        is_unknown = any(one.origin_now not in ("measured", "configured") for _, one in open_ones)
        if len(choices) > 1 and (0 in choices or (is_unknown and max(choices) > expected[0])):
            what = "whether relays help depends" if 0 in choices else "how many relays help depends"
            question = f"{what} on {words.format(figures.route.one_of)}: {_range([one for _, one in open_ones])}"
            found.append((times[0] - times[1], Undecided(decided_by=key, pairs=sorted(choices), question=question)))
    return max(found, key=lambda one: one[0])[1] if found else None


def _best(size_bytes: int, most_pairs: int, figures: Figures) -> tuple[int, float]:
    """The fewest pairs that come near the fastest, none where no number of them helps; and the seconds of them."""
    times = [seconds_for(size_bytes, pairs, figures) for pairs in range(most_pairs + 1)]
    fastest = min(times)
    if fastest > times[0] * (1 - LEAST_GAIN):
        return 0, times[0]
    return next((pairs, time) for pairs, time in enumerate(times) if time <= fastest * (1 + LEAST_GAIN))


def _range(figures: Sequence[Figure]) -> str:
    """`between 16 and 625 MB/s (t3.small: baseline 0.128 Gbps …)`: of the figure that limits."""
    first = min(figures, key=lambda figure: figure.now)
    return f"between {first.least_now:.3g} and {first.most:.4g} MB/s ({first.note})"
