"""Waves of a label: what each look has found, what each wave has moved, and what there is to do now."""

from typing import Annotated, Any, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, Handover, TransferId
from lambdas.core.estimate.dry_run import DryRun
from lambdas.core.request.deletion import Digest
from lambdas.core.request.labels import Label
from lambdas.core.words import duration

# The latest ones: a label may be used for years, and an item of the table has 400 KB.
KEPT_STEPS = 60
# An estimate is not better than this (bench/estimate), and nor is a forecast.
LEAST_RANGE = 0.1

Usd = Annotated[float, Field(ge=0)]
Span = Annotated[float, Field(ge=0)]
StepKind = Literal["look", "wave", "cut-over"]
Outcome = Literal["RUNNING", "CUT_OVER_NOW", "NOT_YET", "FAILED", "STOPPED", "CUT_OVER"]


class Forecast(Document):
    """From a transfer's start to its report, seconds: as expected, at best and at worst."""

    seconds: Span
    low: Span
    high: Span

    @classmethod
    def of(cls, seconds: float, low: float, high: float) -> "Forecast":
        """With a range that is no narrower than what can be known."""
        least, most = seconds * (1 - LEAST_RANGE), seconds * (1 + LEAST_RANGE)
        return cls(seconds=round(seconds, 3), low=round(min(low, least), 3), high=round(max(high, most), 3))

    @property
    def words(self) -> str:
        """`about 21.0 s (18.9 s to 23.1 s)`."""
        return f"about {duration(self.seconds)} ({duration(self.low)} to {duration(self.high)})"


class Step(Document):
    """One execution. Of a look `files` and `bytes` are what was left, and `forecast` how long that takes.

    Of a wave and of the cutover these are what it has moved, and the forecast is the look's before it. `seconds`: from
    start to report; `data_seconds`: of these, while data moved. What is not known yet, or never will be, is absent.
    """

    kind: StepKind
    number: Annotated[int, Field(ge=1)]
    name: TransferId
    status: Literal["RUNNING", "SUCCEEDED", "SUCCEEDED_WITH_SKIPS", "FAILED", "STOPPED"] = "RUNNING"
    files: Count | None = None
    bytes: Count | None = None
    forecast: Forecast | None = None
    seconds: Span | None = None
    data_seconds: Span | None = None
    usd: Usd | None = None

    @property
    def around(self) -> float | None:
        """Seconds for all but the data, of one that has moved something; None where that is not known."""
        if self.kind == "look" or self.seconds is None or self.data_seconds is None or not self.bytes:
            return None
        return max(self.seconds - self.data_seconds, 0.0)


class Waves(Document):
    """Contract `waves`: item of the label, and output of an execution.

    `confirm`: the digest of the extras that the latest look has found, where the request says delete. `first`: of the
    steps, where those of this execution begin. `ends`: which source and destination they are about.
    """

    schema_version: Literal[1] = 1
    label: Label
    execution_arn: str
    version: Annotated[int, Field(ge=1)] = 1
    ends: str
    status: Outcome = "RUNNING"
    said: str
    error: str | None = None
    confirm: Digest | None = None
    first: Count = 0
    steps: list[Step]
    spent_usd: Usd = 0.0
    began_at: float
    updated_at: float

    @property
    def mine(self) -> list[Step]:
        """Steps of this execution."""
        return self.steps[self.first :]

    @property
    def spent(self) -> float:
        """Dollars of this execution: the request's budget is for these together."""
        return sum(step.usd or 0.0 for step in self.mine)

    @property
    def looked(self) -> Step | None:
        """The last look that has ended well."""
        return next((one for one in reversed(self.steps) if one.kind == "look" and one.forecast), None)


class Moved(Handover):
    """`seconds` of a report."""

    total: Span
    transfer: Span


class Paid(Handover):
    """`cost` of a report."""

    total: Usd


class WaveReport(Handover):
    """What of a transfer's report counts here."""

    status: Literal["SUCCEEDED", "SUCCEEDED_WITH_SKIPS"]
    files: Count
    bytes: Count
    seconds: Moved
    cost: Paid
    dry_run: DryRun | None = None


class Ended(Handover):
    """How an execution ended: with its report, or with what Step Functions has caught."""

    report: WaveReport | None = None
    error: dict[str, Any] | None = None
