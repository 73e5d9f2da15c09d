"""Maps of the network, invented: four regions, links of every origin, one that bursts, one that is stale."""

from itertools import permutations

from lambdas.core.estimate.history import History
from lambdas.core.estimate.link_figures import LinkKey, Terms
from lambdas.core.estimate.network_map import Known, NetworkMap, Wanted, figures
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import Price

NOW = 1_700_000_000.0
HOUR, DAY = 3600.0, 86_400.0
REGIONS = ["us-west-2", "eu-west-1", "ap-southeast-1", "sa-east-1"]
LARGE, SMALL = "c6in.large", "t3.small"
PUBLISHED = 390.625
FACTS = {
    LARGE: TypeFacts(LARGE, 2, "x86_64", 3.125, 3.125, 0.0, 0.0, False, frozenset()),
    SMALL: TypeFacts(SMALL, 2, "x86_64", 0.128, 5.0, 0.0, 0.0, True, frozenset()),
}
DOLLARS = {"us-west-2": 0.02, "eu-west-1": 0.02, "ap-southeast-1": 0.09, "sa-east-1": 0.138}


def history(mean: float, sigma: float = 0.0, samples: int = 1, age: float = HOUR, longest: float = 0.0) -> History:
    """Of samples whose last one is `age` seconds old."""
    return History(mean, mean * mean + sigma * sigma, samples, NOW - age, longest)


def measured(mean: float, sigma: float = 0.0, samples: int = 1, age: float = HOUR, **more: History) -> Profile:
    """Of a link whose rate was measured; `more`: other metrics by name."""
    metrics: dict[Metric, History] = {"interRegion": history(mean, sigma, samples, age), **more}  # type: ignore[dict-item]
    return Profile(metrics)


def terms(link: LinkKey, *, internet: bool = True, gateway: float = 0.0) -> Terms:
    """What AWS says of it."""
    price = Price(DOLLARS.get(link.from_region, 0.09), "price list", NOW)
    facts = FACTS.get(link.instance_type)
    return Terms((facts, facts), price, internet, gateway)


def network(known: Known, regions: list[str] | None = None, kinds: list[str] | None = None) -> NetworkMap:
    """The map of these regions and types with what is known."""
    wanted = Wanted(regions=regions or REGIONS, instance_types=kinds or [LARGE])
    found = figures(wanted, known, {link: terms(link) for link in wanted.links()}, NOW)
    return NetworkMap.of(found, wanted, NOW)


def varied() -> NetworkMap:
    """Two types; from the west to Singapore the way through Ireland is the widest."""
    west, ireland, singapore, brazil = REGIONS
    known: dict[tuple[str, str], Profile] = {
        (LARGE, f"{west}>{ireland}"): measured(310.0, 12.0, 9, 2 * HOUR, gain=history(0.9, 0.02, 3)),
        (LARGE, f"{ireland}>{west}"): measured(280.0, 30.0, 4, 3 * DAY),
        (LARGE, f"{ireland}>{singapore}"): measured(240.0, 15.0, 6),
        (LARGE, f"{west}>{singapore}"): measured(95.0, 20.0, 3, 600.0),
        (LARGE, f"{singapore}>{west}"): Profile(configured={"interRegion": 120.0}),
        (LARGE, f"{west}>{brazil}"): Profile(configured={"interRegion": 60.0}),
        (SMALL, f"{west}>{ireland}"): measured(110.0, 5.0, 2, 40.0),
    }
    return network(known, kinds=[LARGE, SMALL])


def wide(count: int = 10) -> NetworkMap:
    """As many regions, every link measured, each at another rate."""
    regions = [f"xx-region-{number}" for number in range(count)]
    pairs = list(permutations(regions, 2))
    known = {
        (LARGE, f"{one}>{other}"): measured(20.0 + 7 * (number * 37 % 50), 2.0, 3, 60.0 * number)
        for number, (one, other) in enumerate(pairs)
    }
    return network(known, regions)
