"""What an hour of a relay costs in each way that a transfer may launch one: by type, region and market."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document, InstanceType, Region
from lambdas.core.tariff.prices import Market, PriceBook

NonNegative = Annotated[float, Field(ge=0)]


class RelayPrice(Document):
    """Contract `estimate`, `relayPrices`: dollars for an hour, with disk, address and processor credits at most.

    `spot_usd`: absent where no spot price is known; such a relay counts like on demand.
    """

    instance_type: InstanceType
    region: Region
    on_demand_usd: NonNegative
    spot_usd: NonNegative | None = None

    def of(self, market: Market) -> float:
        """The price in a market."""
        return self.spot_usd if market == "spot" and self.spot_usd is not None else self.on_demand_usd


def relay_prices(
    book: PriceBook, types: Iterable[str], regions: Iterable[str], market: Market, *, public: bool
) -> list[RelayPrice]:
    """Those of all `types` in all `regions`; a type that has no price there is left out.

    `market`: what relays are launched on first; `public`: whether they have addresses.
    """
    found = []
    kinds = list(dict.fromkeys(types))
    for region in dict.fromkeys(regions):
        for kind in kinds:
            on_demand, spot = (book.find_instance_hour(kind, region, at) for at in ("on-demand", market))
            if on_demand is None or spot is None:
                continue
            beside = book.beside_instance_hour(kind, region, public=public)
            found.append(
                RelayPrice(
                    instance_type=kind,
                    region=region,
                    on_demand_usd=round(on_demand.usd + beside, 6),
                    spot_usd=round(spot.usd + beside, 6) if market == "spot" else None,
                )
            )
    return found
