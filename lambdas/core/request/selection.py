"""What of the source paths is moved: a request's rules and limits. The daemon judges each path by them."""

from datetime import datetime
from re import fullmatch
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from lambdas.core.documents import ABSOLUTE_PATH, RULE, Document
from lambdas.core.request.quantities import SHORT_SPAN, SizeBytes, moment_or_span, span_seconds

MOST_RULES = 1_000
_RIGHT = "write a time with its zone, e.g. 2026-11-21T08:00:00Z, or an age, e.g. 30d (s, m, h, d or w)"

# What the daemon refuses by name are only rules that need its own reading, e.g. a class that is never closed.
Rule = Annotated[str, Field(min_length=1, max_length=1_000, pattern=RULE)]


def _moment(value: str) -> str:
    return moment_or_span(value, _RIGHT)


Moment = Annotated[str, AfterValidator(_moment)]


class Selection(Document):
    """Without any key everything is moved. Rules are lines of a gitignore file; sizes are bytes."""

    include: list[Rule] = Field(default_factory=list, max_length=MOST_RULES)
    exclude: list[Rule] = Field(default_factory=list, max_length=MOST_RULES)
    min_size_bytes: SizeBytes | None = None
    max_size_bytes: SizeBytes | None = None
    modified_after: Moment | None = None
    modified_before: Moment | None = None
    paths_from: Annotated[str, Field(pattern=ABSOLUTE_PATH, max_length=4096)] | None = None
    one_file_system: bool = False

    @property
    def problems(self) -> list[str]:
        """What cannot be wanted together, one line each."""
        found = []
        least, most, nothing = self.min_size_bytes, self.max_size_bytes, "so no file is selected; exchange them"
        if least is not None and most is not None and least > most:
            found.append(f"$.select.minSizeBytes: {least} is more than maxSizeBytes ({most}), {nothing}")
        after, before = (_since(moment, 0.0) for moment in (self.modified_after, self.modified_before))
        if after is not None and before is not None and after >= before:
            words = f"'{self.modified_after}' is not before modifiedBefore ('{self.modified_before}')"
            found.append(f"$.select.modifiedAfter: {words}, {nothing}")
        return found

    def command(self, started_at: float) -> dict[str, Any]:
        """The daemon's contract: ages counted from the execution's start, Unix seconds, as nanoseconds since 1970."""
        document = {
            "include": self.include,
            "exclude": self.exclude,
            "minSizeBytes": self.min_size_bytes,
            "maxSizeBytes": self.max_size_bytes,
            "modifiedFromNs": _since(self.modified_after, started_at),
            "modifiedUntilNs": _since(self.modified_before, started_at),
            "pathsFrom": self.paths_from,
            "oneFileSystem": self.one_file_system,
        }
        # Empty lists and False are the daemon's own defaults; 0 is a limit.
        return {
            key: value for key, value in document.items() if value is not None and value is not False and value != []
        }


def _since(moment: str | None, started_at: float) -> int | None:
    if moment is None:
        return None
    if fullmatch(SHORT_SPAN, moment):
        return int(started_at * 1e9) - span_seconds(moment) * 1_000_000_000
    # In whole seconds and microseconds apart: a float holds no nanoseconds of today.
    found = datetime.fromisoformat(moment)
    return int(found.replace(microsecond=0).timestamp()) * 1_000_000_000 + found.microsecond * 1_000
