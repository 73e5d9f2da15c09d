"""Does the estimate choose the relays that carry most where the two sides' types differ, and do these carry it?

Each side has a type of its own, and the estimate knows what one relay of each carries. Of all numbers of relays on
either side that a row may have, the bound is the most that any carries: the maximum flow. In the last run the receiver
takes all that relays of the other region send, so that none beside it is of use.

A cap counts whole packets, of 1 500 bytes at most between regions, so the bounds are what their headers leave.
"""

from collections import Counter
from itertools import product
from random import Random
from typing import NamedTuple

from bench.data_plane.arithmetic import payload_share
from bench.estimate.scenarios import DESTINATION_TYPE, SOURCE_TYPE, Machine
from bench.estimate.site import FLEET, RELAY_TYPE
from bench.fleet.arithmetic import steady_rate
from bench.fleet.site import FAR_TYPE, CaseError, Machines, Options, Site, site
from bench.results import Result, say
from cli.figures import tell_figures
from local.instances.firewall import INTERNET_MTU
from tests.e2e.account import HOME, OTHER

FLEETS, QUICK_FLEETS = 4, 1
DIRECT, INSIDE = 4, 200
MOST_PAIRS = 4
"""Rows go up to as many relays as so many pairs have."""
STRAIGHT = 16
SECONDS = 25
PAYLOAD = payload_share(int(INTERNET_MTU))
BAR = 0.97


class Sides(NamedTuple):
    """MB/s between regions of one relay at each side."""

    source: int
    destination: int

    def flow(self, source: int, destination: int) -> int:
        """MB/s of so many relays at each side."""
        return min(source * self.source, destination * self.destination)

    def best(self) -> tuple[int, int]:
        """MB/s of the maximum flow, and the fewest relays that carry it."""
        counts = range(1, 2 * MOST_PAIRS)
        allowed = [(m, n) for m, n in product(counts, counts) if m + n <= 2 * MOST_PAIRS]
        most = max(self.flow(*count) for count in allowed)
        return most, min(sum(count) for count in allowed if self.flow(*count) == most)


def draw(seed: int, count: int) -> list[Sides]:
    """Sides of which one is two to four times as strong, in turn; the same for the same seed."""
    randomness = Random(seed)
    found = []
    for number in range(count):
        weak = randomness.randint(6, 12)
        sides = (weak, round(weak * randomness.uniform(2, 4)))
        found.append(Sides(*(sides if number % 2 else sides[::-1])))
    return found


def run(options: Options) -> list[Result]:
    """One transfer between each two sides, and one straight into the receiver."""
    sides = draw(options.seed, QUICK_FLEETS if options.quick else FLEETS)
    shares = [_unequal(one, f"unequal-{number}") for number, one in enumerate(sides)]
    note = "MB/s through relays once all have joined, the least of the fleets"
    return [
        Result("unequal: chosen relays / maximum flow", min(shares), "×", BAR, "higher", note),
        Result("unequal: straight into the receiver / what its relays send", _straight(), "×", BAR, "higher", note),
    ]


def _unequal(sides: Sides, name: str) -> float:
    ends = Machine(DIRECT, INSIDE)
    machines = Machines(ends, Machine(sides.source, INSIDE), far=Machine(sides.destination, INSIDE))
    most, fewest = sides.best()
    with site(machines) as place:
        types = {"source": [RELAY_TYPE], "destination": [FAR_TYPE]}
        rates = {SOURCE_TYPE: DIRECT, DESTINATION_TYPE: DIRECT, RELAY_TYPE: sides.source, FAR_TYPE: sides.destination}
        used, rate = _move(place, name, rates, types, most)
        # Nothing in between has its own role: the roles are the sides.
        say(f"  {name}: {used['source']} × {sides.source} and {used['destination']} × {sides.destination} MB/s carry")
        say(f"  {rate:.2f} of {most * PAYLOAD:.2f} MB/s, which {fewest} relays can carry")
    if used.total() != fewest:
        raise CaseError(f"{name}: {used.total()} relays, and {fewest} carry the maximum flow")
    return rate / (most * PAYLOAD)


def _straight() -> float:
    name = "straight"
    ends, relay, receiver = Machine(DIRECT, INSIDE), Machine(STRAIGHT, INSIDE), Machine(INSIDE, INSIDE)
    with site(Machines(ends, relay, receiver=receiver)) as place:
        rates = {SOURCE_TYPE: DIRECT, DESTINATION_TYPE: INSIDE, RELAY_TYPE: STRAIGHT}
        most = 2 * MOST_PAIRS * STRAIGHT
        used, rate = _move(place, name, rates, [RELAY_TYPE], most)
        bound = used.total() * STRAIGHT * PAYLOAD
        say(f"  {name}: {dict(used)} carry {rate:.2f} of {bound:.2f} MB/s")
    if "destination" in used:
        raise CaseError(f"{name}: relays beside a receiver that takes everything")
    return rate / bound


def _move(place: Site, name: str, rates: dict[str, int], types: object, most: int) -> tuple[Counter[str], float]:
    """Relays that joined, by role, and their steady rate."""
    account = place.account
    for function in ("cpt-estimate-transfer", *FLEET):
        account.configure(function, MAX_PAIRS=str(MOST_PAIRS))
    for kind, rate in rates.items():
        tell_figures(account.aws, f"{HOME}>{OTHER}", [kind], {"interRegionMBps": rate, "intraRegionMBps": INSIDE}, 3)
    place.fill(SECONDS * (most + DIRECT))
    relays = {"pairs": "auto", "instanceTypes": types}
    arn = place.start(name, 0, relays=relays, objective={"minimise": "time"})
    report = place.finish(arn).report
    place.forget(name)
    used = Counter(node["role"].split("-")[0] for node in report["nodes"] if "joinedAt" in node)
    if not used:
        raise CaseError(f"{name}: no relay joined")
    return used, steady_rate(report["course"])
