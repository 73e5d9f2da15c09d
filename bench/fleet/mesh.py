"""Do 2 × 3 relays of unequal caps carry what the smaller side can?

Any relay of the source may feed any of the destination's, so the bound is the maximum flow of a complete bipartite
graph: the smaller of the two sides' sums. Who shares its cap out among its lanes does not know the others' caps.
"""

from random import Random

from bench.data_plane.arithmetic import payload_share
from bench.estimate.scenarios import Machine
from bench.fleet.arithmetic import steady_rate
from bench.fleet.draws import Fleet, anything
from bench.fleet.site import Machines, Options, Site, site
from bench.results import Result, say
from local.instances.firewall import INTERNET_MTU

SIDES = (2, 3)
FLEETS, QUICK_FLEETS = 5, 1
ENDS, RELAY = Machine(4, 200), Machine(16, 80)
SECONDS = 25
"""Of data; the first few, until all have joined, do not count."""
BAR = 0.97
# Caps count what passes the wire, the course what arrives: packets of 1500 bytes have headers.
PAYLOAD = payload_share(int(INTERNET_MTU))


def draw(seed: int, count: int) -> list[Fleet]:
    """2 source and 3 destination relays, and the other way round in turn; the same for the same seed."""
    randomness = Random(seed)
    fleets = []
    for number in range(count):
        sides = [tuple(round(anything(randomness), 3) for _ in range(relays)) for relays in SIDES]
        fleets.append(Fleet(f"mesh-{number}", *(sides if number % 2 == 0 else reversed(sides))))
    return fleets


def bound(one: Fleet) -> float:
    """MB/s of data: what the smaller side can carry."""
    return PAYLOAD * RELAY.inter * min(sum(one.sources), sum(one.destinations))


def run(options: Options) -> list[Result]:
    """One transfer through each fleet."""
    fleets = draw(options.seed, QUICK_FLEETS if options.quick else FLEETS)
    with site(Machines(ENDS, RELAY, fleets=tuple(fleets))) as place:
        shares = [measure(place, one) for one in fleets]
    note = "MB/s through relays once all have joined, the least of the fleets"
    return [Result("mesh: 2 × 3 relays / maximum flow", min(shares), "×", BAR, "higher", note)]


def measure(place: Site, one: Fleet) -> float:
    """Rate through the relays over the bound."""
    place.fill(round(SECONDS * (bound(one) + ENDS.inter)))
    sides = {"source": len(one.sources), "destination": len(one.destinations)}
    rate = steady_rate(place.move(one.transfer, sides).report["course"])
    say(f"  {one.transfer}: {rate:.2f} of {bound(one):.2f} MB/s, caps {one.sources} and {one.destinations}")
    return rate / bound(one)
