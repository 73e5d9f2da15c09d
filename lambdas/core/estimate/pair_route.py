"""The route beside the ends, which every transfer has: its regions, and how many relays so many pairs are."""

from collections.abc import Sequence

from pydantic import Field

from lambdas.core.documents import Count, Document, Region

SIDES = 2


class PairRoute(Document):
    """Contract `estimate`, `figures.pairRoute`; source's side first.

    `regions`: of the relays' stages; the machine's alone where the other end is a bucket, for S3 needs none beside
    itself: then a pair is one relay. Absent where figures are given, of ends that nobody has named. `asked`: relays at
    each side, where the request asks for different numbers. `lent`: machines of the user, which take the first slots.
    """

    regions: list[Region] | None = Field(default=None, min_length=1, max_length=SIDES)
    asked: list[Count] | None = Field(default=None, alias="askedRelays", min_length=SIDES, max_length=SIDES)
    lent: list[Count] | None = Field(default=None, alias="lentRelays", min_length=SIDES, max_length=SIDES)

    @property
    def sides(self) -> int:
        """Stages of relays that a pair has one relay at."""
        return len(self.regions) if self.regions else SIDES

    @property
    def unit(self) -> str:
        """What a pair is, in words."""
        return "pair" if self.sides == SIDES else "relay"

    @property
    def one_of(self) -> str:
        """The same before what it is of: `a pair of`, or `one of`."""
        return "a pair of" if self.sides == SIDES else "one of"

    def words(self, pairs: int) -> str:
        """`3 pairs`, or `3 relays`."""
        return f"{pairs} {self.unit}{'' if pairs == 1 else 's'}"

    def are(self, pairs: int, one: str = "is", more: str = "are") -> str:
        """`1 pair is`, or `2 relays are`; with another verb as well."""
        return f"{self.words(pairs)} {one if pairs == 1 else more}"

    def relays(self, pairs: int) -> list[int]:
        """As many at each side as pairs, or as were asked for where the sides differ and none had to go."""
        return list(self.asked) if self.asked and pairs == min(self.asked) else [pairs] * self.sides

    def lent_of(self, relays: Sequence[int]) -> list[int] | None:
        """How many of so many relays at each side are machines of the user; None where none is."""
        found = [min(there, count) for there, count in zip(self.lent or [0] * len(relays), relays, strict=True)]
        return found if any(found) else None
