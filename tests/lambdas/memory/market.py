"""In-memory twins of the markets, and of EMR: what they answer is set from outside."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lambdas.adapters.market import PriceAnswers
from lambdas.core.ends.clusters import Cluster
from lambdas.core.survey.served import Served, Told
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Market, Price, PriceItem


@dataclass
class MemoryPriceList:
    """PriceList; `asked` is every question so far."""

    dollars: dict[PriceItem, float] = field(default_factory=dict)
    asked: list[PriceItem] = field(default_factory=list)

    def ask(self, items: Iterable[PriceItem]) -> PriceAnswers:
        """See PriceList."""
        wanted = list(items)
        self.asked += wanted
        missing = tuple(f"{item}: not in the price list" for item in wanted if item not in self.dollars)
        return PriceAnswers({item: self.dollars[item] for item in wanted if item in self.dollars}, missing)


@dataclass
class MemoryPriceCache:
    """PriceCache."""

    prices: dict[PriceItem, Price] = field(default_factory=dict)

    def read(self) -> dict[PriceItem, Price]:
        """See PriceCache."""
        return dict(self.prices)

    def write(self, prices: Mapping[PriceItem, Price]) -> None:
        """See PriceCache."""
        self.prices = dict(prices)


@dataclass
class MemorySpotMarket:
    """SpotMarket; prices by zone and type."""

    prices: dict[tuple[str, str], Price] = field(default_factory=dict)
    role: bool = True

    def has_role(self) -> bool:
        """See SpotMarket."""
        return self.role

    def latest(self, instance_types: Iterable[str], zone: str) -> dict[str, Price]:
        """See SpotMarket."""
        return {kind: self.prices[zone, kind] for kind in instance_types if (zone, kind) in self.prices}


@dataclass
class MemoryInstanceTypes:
    """InstanceTypes."""

    known: dict[str, TypeFacts] = field(default_factory=dict)

    def facts(self, instance_types: Iterable[str]) -> dict[str, TypeFacts]:
        """See InstanceTypes."""
        return {kind: self.known[kind] for kind in instance_types if kind in self.known}


@dataclass
class MemoryQuotas:
    """Quotas."""

    limits: dict[Market, float] = field(default_factory=dict)

    def vcpus(self, market: Market) -> float | None:
        """See Quotas."""
        return self.limits.get(market)


@dataclass
class MemoryFileSystems:
    """FileSystems; `asked`: the ids of all calls."""

    known: dict[str, Told] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def told(self, served: Iterable[Served]) -> dict[Served, Told]:
        """See FileSystems."""
        found = list(served)
        self.asked += [one.file_system_id for one in found]
        return {one: self.known[one.file_system_id] for one in found if one.file_system_id in self.known}


@dataclass
class MemoryClusters:
    """EMR of one region; `asked`: the ids of all calls."""

    known: dict[str, Cluster] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def find(self, cluster_id: str) -> Cluster | None:
        """See Clusters."""
        self.asked.append(cluster_id)
        return self.known.get(cluster_id)
