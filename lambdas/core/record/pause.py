"""Whether a person has paused a transfer, and what it is owed once it goes on."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document

# The latest ones: an item of the table has 400 KB.
MOST_SPANS = 100
Moment = Annotated[float, Field(ge=0)]


class PauseSpan(Document):
    """From when to when it was paused, Unix seconds; without `until` it was when it ended."""

    since: Moment
    until: Moment | None = None


class Pause(Document):
    """Attribute `pause` of the record; `at`: the last change, Unix seconds. `seconds`: of earlier pauses together.

    `owed`: it went on, and relays that were given back while it was paused are not launched again yet. `earlier`: the
    pauses that are over.
    """

    version: Count = 0
    paused: bool = False
    at: float = 0.0
    seconds: float = 0.0
    owed: bool = False
    earlier: list[PauseSpan] = Field(default_factory=list)

    @property
    def spans(self) -> list[PauseSpan]:
        """All pauses, in order."""
        return [*self.earlier, *([PauseSpan(since=self.at)] if self.paused else [])]

    def begun(self, at: float) -> "Pause":
        """The next version, in which it is paused."""
        return self._next(paused=True, at=at, owed=False)

    def ended(self, at: float) -> "Pause":
        """The next version, in which it goes on, and is owed its relays."""
        until = max(at, self.at)
        earlier = [*self.earlier, PauseSpan(since=self.at, until=until)][-MOST_SPANS:]
        return self._next(paused=False, at=at, seconds=self.seconds + until - self.at, owed=True, earlier=earlier)

    def settled(self) -> "Pause":
        """The next version, in which it is owed nothing: somebody launches its relays."""
        return self._next(owed=False)

    def _next(self, **changes: object) -> "Pause":
        return self.model_copy(update={"version": self.version + 1, **changes})
