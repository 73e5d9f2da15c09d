"""What a request says of its relays: how many, of which types, which machines are lent, and where they may stand."""

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from lambdas.core.documents import MAX_TRANSIT_REGIONS, Document, InstanceId, InstanceType, Integer, Region
from lambdas.core.request import pool_rules
from lambdas.core.request.pool_rules import MOST_WEIGHT, StartBy

MAX_REQUEST_PAIRS = 64

SideCount = Annotated[Integer, Field(ge=1, le=MAX_REQUEST_PAIRS)]


class Sides(Document):
    """Relays on each side: any of the source's feeds any of the destination's."""

    source: SideCount
    destination: SideCount


Types = Annotated[list[InstanceType], Field(min_length=1, max_length=20)]


class TypesBySide(Document):
    """Allowed types of the relays on each side."""

    source: Types
    destination: Types


def _form(value: object) -> str:
    return "TypesBySide" if isinstance(value, (dict, TypesBySide)) else "Types"


class RelaysRequest(Document):
    """Which relays to use."""

    pairs: Literal["auto"] | Annotated[Integer, Field(ge=0, le=MAX_REQUEST_PAIRS)] | Sides = "auto"
    instance_types: (
        Annotated[
            Annotated[Types, Tag("Types")] | Annotated[TypesBySide, Tag("TypesBySide")],
            Discriminator(_form),
        ]
        | None
    ) = None
    market: Literal["on-demand", "spot"] = "on-demand"
    existing: list[InstanceId] = Field(default_factory=list, max_length=128)
    existing_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    pool: Literal["prefer", "only", "none"] | None = None
    """Relays that stand before anybody asks; None: before any is launched, where there are some."""
    most_usd_per_gb: Annotated[float, Field(ge=0)] | None = Field(default=None, alias="maxUsdPerGB")
    """Dollars per GB through the pool, at which or below which the transfer starts; None: at any price."""
    start_by: StartBy | None = None
    """When it starts at the latest, whatever the price."""
    weight: Annotated[Integer, Field(ge=1, le=MOST_WEIGHT)] | None = None
    """Part of what its tenant has of the pool, beside his other transfers; None is 1."""
    through: Literal["none", "auto"] | Annotated[list[Region], Field(min_length=1, max_length=MAX_TRANSIT_REGIONS)] = (
        "none"
    )
    """Third regions through which relays may pass the data on; "auto": any that the deployment has."""

    @property
    def wanted(self) -> int | Literal["auto"]:
        """Pairs that were asked for: what the smaller side is, since like relays carry no more."""
        return min(self.pairs.source, self.pairs.destination) if isinstance(self.pairs, Sides) else self.pairs

    @property
    def pool_problems(self) -> list[str]:
        """What is said of the pool and does not go together, a line each."""
        return list(pool_rules.problems(self.pool, self.pairs, self.most_usd_per_gb, self.start_by, self.weight))

    def types_of(self, stage: int, deployed: Sequence[str]) -> list[str]:
        """Allowed types of a stage's relays; those that are `deployed` where the request names none."""
        asked = self.instance_types
        if isinstance(asked, TypesBySide):
            asked = asked.destination if stage else asked.source
        return list(dict.fromkeys(asked or deployed))

    def third_regions(self, deployed: Iterable[str], ends: Collection[str]) -> list[str]:
        """The regions through which routes may lead: those that are named, or all `deployed` but the `ends`'."""
        if self.through == "none":
            return []
        if self.through == "auto":
            return [region for region in deployed if region not in ends][:MAX_TRANSIT_REGIONS]
        return self.through

    @property
    def by_side(self) -> bool:
        """Whether types were named for each side."""
        return isinstance(self.instance_types, TypesBySide)

    @property
    def sides(self) -> Sides | None:
        """Where they were asked for by side."""
        return self.pairs if isinstance(self.pairs, Sides) else None
