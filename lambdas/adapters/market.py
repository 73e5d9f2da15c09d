"""The protocols of AWS's markets that the estimate asks, one per service, kept by the real adapter and its twin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lambdas.core.survey.served import Served, Told
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Market, Price, PriceItem


@dataclass(frozen=True)
class PriceAnswers:
    """Dollars by item, and one line for each item that has none."""

    dollars: Mapping[PriceItem, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class PriceList(Protocol):
    """AWS's price list."""

    def ask(self, items: Iterable[PriceItem]) -> PriceAnswers:
        """Prices of those that the list is asked for; never raises for what AWS answers, never takes over 3 s."""


class PriceCache(Protocol):
    """Prices that the price list gave earlier, of any age."""

    def read(self) -> dict[PriceItem, Price]:
        """Return all prices; empty where none were written yet."""

    def write(self, prices: Mapping[PriceItem, Price]) -> None:
        """Replace all of them."""


class SpotMarket(Protocol):
    """Spot prices of one region."""

    def latest(self, instance_types: Iterable[str], zone: str) -> dict[str, Price]:
        """Dollars per hour in an availability zone, by type; types without a history are left out."""

    def has_role(self) -> bool:
        """Return whether EC2 has the account's role for spot; true where that cannot be known."""


class InstanceTypes(Protocol):
    """Instance types of one region."""

    def facts(self, instance_types: Iterable[str]) -> dict[str, TypeFacts]:
        """Return facts by type, without those that the region does not know or that AWS publishes no baseline for."""


class FileSystems(Protocol):
    """EFS and FSx of one region."""

    def told(self, served: Iterable[Served]) -> dict[Served, Told]:
        """Return what AWS tells of each; without those that it tells nothing of. Never raises for what AWS answers."""


class Quotas(Protocol):
    """Service quotas of one region."""

    def vcpus(self, market: Market) -> float | None:
        """The account's quota of standard instances; None when it cannot be read."""
