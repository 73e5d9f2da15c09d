"""What one run of an experiment leaves: rows, curves, verdicts, and how to get them again."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from bench.plots import Plot
from bench.results import Result

KEPT = Path("bench/lab/kept")
"""A record and a log for each run, in the repository: the index is made of them."""


class Document(BaseModel):
    """What is written as JSON."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, ser_json_inf_nan="strings"
    )


class Verdict(StrEnum):
    """Of a claim, or of a figure."""

    CONFIRMED = "confirmed"
    ONLY_IF = "confirmed only if"
    IN_PART = "in part"
    REFUTED = "refuted"
    INVALID = "invalid"
    """Measured on a machine that had not the room for it, so it says nothing."""
    NO_CLAIM = "nothing is printed"


class Claim(Document):
    """What a paper prints, as a range for one measured row."""

    text: str
    row: str
    """The case of that row."""
    least: float | None = None
    most: float | None = None
    only_if: str | None = None
    """Under which the row was measured, where the paper does not say it."""
    contradicted: str | None = None
    """By which other number of the same paper."""

    def verdict(self, rows: Sequence[Result]) -> Verdict:
        """Whether the row lies in the range. Raises KeyError where it was not measured."""
        found = {row.case: row.measured for row in rows}
        if self.row not in found:
            raise KeyError(f"claim {self.text!r} is about the row {self.row!r}; measured are {', '.join(found)}")
        value = found[self.row]
        if not (self.least is None or value >= self.least) or not (self.most is None or value <= self.most):
            return Verdict.REFUTED
        return Verdict.ONLY_IF if self.only_if else Verdict.CONFIRMED


class Record(Document):
    """One figure, from one run."""

    figure: str
    paper: str
    title: str
    claims: list[Claim]
    rows: list[Result]
    plots: list[Plot] = []
    note: str = ""
    invalid: list[str] = []
    """Cells for which the machine had no room, with what they used."""
    command: str
    seconds: float
    seed: int
    log: str
    versions: dict[str, str]

    @property
    def verdicts(self) -> list[Verdict]:
        """Of the claims, in their order."""
        return [claim.verdict(self.rows) for claim in self.claims]

    @property
    def verdict(self) -> Verdict:
        """Of the figure."""
        found = set(self.verdicts)
        if self.invalid:
            return Verdict.INVALID
        if not found:
            return Verdict.NO_CLAIM
        if len(found) == 1:
            return found.pop()
        return Verdict.IN_PART if Verdict.REFUTED in found else Verdict.ONLY_IF

    @property
    def verdict_text(self) -> str:
        """The verdict in words, with how many claims hold or the condition."""
        verdict = self.verdict
        if verdict is Verdict.IN_PART:
            held = sum(one is not Verdict.REFUTED for one in self.verdicts)
            return f"{held} of {len(self.claims)} claims confirmed"
        if verdict is Verdict.ONLY_IF:
            return f"{verdict} {'; '.join(dict.fromkeys(c.only_if for c in self.claims if c.only_if))}"
        return str(verdict)

    def keep(self) -> None:
        """Write it beside its log."""
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{self.figure}.json").write_text(self.model_dump_json(by_alias=True) + "\n")


def kept() -> Iterator[Record]:
    """All records, by name."""
    for path in sorted(KEPT.glob("*.json")):
        yield Record.model_validate_json(path.read_text())
