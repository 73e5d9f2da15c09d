"""What estimates have learnt, as a file keeps it: one line for each subject and pair of regions."""

from typing import Annotated

from pydantic import Field, ValidationError

from lambdas.core.documents import Count, Document, Integer
from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.profile import Metric
from lambdas.core.request.problems import describe

# Clocks differ; what is later than this would be newer than all that is measured until then.
MOST_AHEAD_SECONDS = 300.0
_MOST = (1 << 53) - 1
Number = Annotated[float, Field(ge=0)]
Key = Annotated[str, Field(min_length=1, max_length=1_024)]


class HistoryEntry(Document):
    """A metric's history, in the metric's unit and Unix seconds."""

    mean: Number
    second_moment: Number
    samples: Annotated[Integer, Field(ge=1, le=_MOST)]
    at_seconds: Number
    longest_seconds: Number = 0.0
    weight: Number | None = None
    measurements: Annotated[Count, Field(le=_MOST)] | None = None


class ProfileEntry(Document):
    """Contract `profile-entry`: a line of the file."""

    subject: Key
    region_pair: Key
    version: Annotated[Count, Field(le=_MOST)] = 0
    metrics: dict[Metric, HistoryEntry] = Field(default_factory=dict)
    configured: dict[Metric, Number] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Of which there is one in a table, and one in a file."""
        return self.subject, self.region_pair

    def over(self, stored: "ProfileEntry", *, overwrite: bool) -> "ProfileEntry | None":
        """What becomes of the one that is `stored`; None where it stays as it is.

        Of each metric that which was measured last stays, and what an operator has configured, unless `overwrite` says
        otherwise.
        """
        before, after = (stored, self) if overwrite else (self, stored)
        newer = {
            metric: history
            for metric, history in self.metrics.items()
            if overwrite or metric not in stored.metrics or history.at_seconds > stored.metrics[metric].at_seconds
        }
        measured, configured = {**stored.metrics, **newer}, {**before.configured, **after.configured}
        if (measured, configured) == (stored.metrics, stored.configured):
            return None
        return stored.model_copy(update={"metrics": measured, "configured": configured})


def read_entries(lines: list[str], now: float) -> list[ProfileEntry]:
    """All entries of a file; raises InvalidRequest with what is wrong, by line and field. `now`: Unix seconds."""
    found: dict[tuple[str, str], int] = {}
    entries, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = ProfileEntry.model_validate_json(line, by_alias=True, by_name=False)
        except ValidationError as error:
            problems += [f"line {number}: {problem}" for problem in describe(error)]
            continue
        first = found.setdefault(entry.key, number)
        if first != number:
            what = f"{entry.subject} on {entry.region_pair} stands in line {first} too; leave one of them out"
            problems.append(f"line {number}: $.subject: {what}")
        problems += [
            f"line {number}: $.metrics.{metric}.atSeconds: {history.at_seconds:.0f} lies in the future, and nothing "
            "measured would be newer; write when it was measured, in Unix seconds"
            for metric, history in entry.metrics.items()
            if history.at_seconds > now + MOST_AHEAD_SECONDS
        ]
        entries.append(entry)
    if problems:
        raise InvalidRequest(problems)
    return entries
