"""What things cost, dollars: a book of prices that says where each is from and how old it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lambdas.core.errors import MissingPrice
from lambdas.core.tariff import fallback_prices as fallback
from lambdas.core.tariff.processor_credits import most_surplus_hour

MINIMUM_BILLED_SECONDS = 60.0
# As the relays' launch template has it.
DISK_GB = 8
HOURS_A_MONTH = 730

Market = Literal["on-demand", "spot"]
Origin = Literal["price list", "spot history", "fallback"]
What = Literal[
    "instance-hour",
    "spot-hour",
    "egress-gb",
    "public-address-hour",
    "disk-gb-month",
    "cross-zone-gb",
    "transit-gateway-gb",
    "state-transition",
    "lambda-gb-second",
    "lambda-request",
    "table-write",
    "table-read",
    "event",
    "object-put",
    "object-get",
]


class PriceItem(NamedTuple):
    """One thing that has a price. `detail`: the instance type, or the region that traffic goes to; else empty."""

    what: What
    region: str
    detail: str = ""

    def __str__(self) -> str:
        """`instance-hour of c7gn.large in eu-west-1`."""
        of = {"egress-gb": " to "}.get(self.what, " of ") + self.detail if self.detail else ""
        return f"{self.what}{of} in {self.region}"


@dataclass(frozen=True)
class Price:
    """Dollars per unit (hour, GB of 10^9 bytes, GB-month, request); `as_of` in Unix seconds."""

    usd: float
    origin: Origin
    as_of: float

    def age_days(self, now: float) -> float:
        """Days since it was learned; `now` in Unix seconds."""
        return max(now - self.as_of, 0.0) / 86_400


_EVERYWHERE: Mapping[What, float] = {
    "public-address-hour": fallback.PUBLIC_ADDRESS_HOUR,
    "cross-zone-gb": fallback.CROSS_ZONE_GB,
    "transit-gateway-gb": fallback.TRANSIT_GATEWAY_GB,
    "state-transition": fallback.STATE_TRANSITION,
    "lambda-gb-second": fallback.LAMBDA_GB_SECOND,
    "lambda-request": fallback.LAMBDA_REQUEST,
    "table-write": fallback.TABLE_WRITE,
    "table-read": fallback.TABLE_READ,
    "event": fallback.EVENT,
    "object-put": fallback.OBJECT_PUT,
    "object-get": fallback.OBJECT_GET,
}


def fallback_price(item: PriceItem) -> Price | None:
    """The embedded table's answer, too high rather than too low; None for an unknown type, and for spot."""
    match item.what:
        case "instance-hour":
            usd = fallback.instance_hour(item.detail, item.region)
        case "spot-hour":
            usd = None
        case "egress-gb":
            usd = fallback.EGRESS_GB.get(item.region, fallback.EGRESS_GB_ELSEWHERE)
        case "disk-gb-month":
            usd = fallback.DISK_GB_MONTH.get(item.region, fallback.DISK_GB_MONTH_ELSEWHERE)
        case _:
            usd = _EVERYWHERE[item.what]
    return None if usd is None else Price(usd, "fallback", fallback.AS_OF)


@dataclass(frozen=True)
class PriceBook:
    """`found`: what AWS said; everything else is answered from the fallback table.

    `problems`: why the price list could not be asked for some of it, one line each.
    """

    found: Mapping[PriceItem, Price] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def find(self, item: PriceItem) -> Price | None:
        """The price, from AWS or from the table; None when there is none anywhere."""
        return self.found.get(item) or fallback_price(item)

    def find_instance_hour(self, instance_type: str, region: str, market: Market = "on-demand") -> Price | None:
        """Of one Linux instance. Spot without a history counts like on demand: by default it never costs more."""
        on_demand = self.find(PriceItem("instance-hour", region, instance_type))
        spot = self.found.get(PriceItem("spot-hour", region, instance_type)) if market == "spot" else None
        return spot or on_demand

    def instance_hour(self, instance_type: str, region: str, market: Market = "on-demand") -> Price:
        """As `find_instance_hour`; raises MissingPrice."""
        price = self.find_instance_hour(instance_type, region, market)
        if price is None:
            raise MissingPrice(
                f"{instance_type} in {region} has no price: AWS's price list has none{self._why()} and the fallback "
                "table does not know the type; name another type in $.relays.instanceTypes"
            )
        return price

    def beside_instance_hour(self, instance_type: str, region: str, *, public: bool) -> float:
        """What a relay costs beside its instance in either market: disk, address if any, processor credits at most."""
        disk = self.unit("disk-gb-month", region).usd * DISK_GB / HOURS_A_MONTH
        address = self.unit("public-address-hour", region).usd if public else 0.0
        return disk + address + most_surplus_hour(instance_type)

    def egress_gb(self, from_region: str, to_region: str) -> Price:
        """Per GB that leaves `from_region`; nothing within a region, where relays stand in the end's own zone."""
        if from_region == to_region:
            return Price(0.0, "price list", fallback.AS_OF)
        return self.unit("egress-gb", from_region, to_region)

    def unit(self, what: What, region: str, detail: str = "") -> Price:
        """The price of anything but instances: the table has all of these."""
        price = self.find(PriceItem(what, region, detail))
        if price is None:
            raise ValueError(f"{what}: instances are priced by instance_hour")
        return price

    def from_fallback(self, items: Iterable[PriceItem]) -> list[PriceItem]:
        """Those of `items` that only the embedded table has a price for."""
        return [item for item in items if item not in self.found and fallback_price(item) is not None]

    def _why(self) -> str:
        return f" ({'; '.join(self.problems)})" if self.problems else ""


def needed(
    instance_types: Iterable[str],
    source: str,
    destination: str,
    transit: Iterable[str] = (),
    *,
    beside: Iterable[str] | None = None,
) -> list[PriceItem]:
    """What the estimate of a transfer from region `source` to `destination` with relays of these types asks for.

    `transit`: third regions that relays may be in. What leaves these is priced with the map of the network. `beside`:
    regions of the ends that relays may be in, where these are not both.
    """
    regions = list(dict.fromkeys((*((source, destination) if beside is None else beside), *transit)))
    items = [PriceItem("instance-hour", region, kind) for kind in instance_types for region in regions]
    for region in regions:
        items += [PriceItem("public-address-hour", region), PriceItem("disk-gb-month", region)]
    return items if source == destination else [*items, PriceItem("egress-gb", source, destination)]
