"""The route beside the two ends, which every transfer has: its regions, and how many relays so many pairs are."""

from collections.abc import Sequence

from pydantic import Field

from lambdas.core.documents import Count, Document, Region

SIDES = 2


class PairRoute(Document):
    """Contract `estimate`, `figures.pairRoute`; source's side first.

    `regions`: absent where figures are given, of ends that nobody has named. `asked`: relays at each side, where the
    request asks for different numbers. `lent`: machines of the user, which take the first slots.
    """

    regions: list[Region] | None = Field(default=None, min_length=SIDES, max_length=SIDES)
    asked: list[Count] | None = Field(default=None, alias="askedRelays", min_length=SIDES, max_length=SIDES)
    lent: list[Count] | None = Field(default=None, alias="lentRelays", min_length=SIDES, max_length=SIDES)

    def relays(self, pairs: int) -> list[int]:
        """As many at each side as pairs, or as were asked for where the sides differ and none had to go."""
        return list(self.asked) if self.asked and pairs == min(self.asked) else [pairs] * SIDES

    def lent_of(self, relays: Sequence[int]) -> list[int] | None:
        """How many of so many relays at each side are machines of the user; None where none is."""
        found = [min(there, count) for there, count in zip(self.lent or [0] * SIDES, relays, strict=True)]
        return found if any(found) else None
