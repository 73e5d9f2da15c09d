"""The map of the network, gathered: profiles of all links, what AWS publishes of the types, prices of the borders."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from lambdas.adapters.world import World
from lambdas.core.estimate.link_figures import LinkKey, Terms
from lambdas.core.estimate.network_map import NetworkMap, Wanted, figures
from lambdas.core.places.place import Place
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.operations.estimate.quotes import price_book

# Of all regions at once: each is asked for two short lists.
WORKERS = 8


def network_map(asked: Wanted, world: World) -> NetworkMap:
    """What is known now; writes only prices that it had to ask for. Raises InvalidRequest."""
    env, now = world.env, world.clock.now()
    wanted = asked.within(env.regions, env.instance_types)
    links = list(wanted.links())
    known = world.profiles.get_all((link.instance_type, link.region_pair) for link in links)
    facts = _facts(wanted, world)
    book = price_book(wanted.prices(), world)
    through = env.inter_region_path == "transit-gateway"

    def terms(link: LinkKey) -> Terms:
        start, end = (facts[region].get(link.instance_type) for region in (link.from_region, link.to_region))
        return Terms(
            facts=(start and start.as_relay, end and end.as_relay),
            egress=book.egress_gb(link.from_region, link.to_region),
            internet=env.inter_region_path == "internet",
            gateway_usd_per_gb=book.unit("transit-gateway-gb", link.from_region).usd if through else 0.0,
        )

    found = figures(wanted, known, {link: terms(link) for link in links}, now)
    return NetworkMap.of(found, wanted, now, book.problems)


def _facts(wanted: Wanted, world: World) -> dict[str, Mapping[str, TypeFacts]]:
    """What EC2 says of the types, by region."""
    with ThreadPoolExecutor(WORKERS) as pool:
        asked = {
            region: pool.submit(world.at(Place(region)).instance_types.facts, wanted.instance_types)
            for region in wanted.regions
        }
    return {region: answer.result() for region, answer in asked.items()}
