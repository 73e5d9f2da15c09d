"""What one run may do and spend, decided before anything costs money: dollars, MB, seconds."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lambdas.core.architecture import architecture_of
from lambdas.core.estimate.budget import HELD_SECONDS
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS
from lambdas.core.tariff.prices import PriceBook

END_TYPE = "t3.small"
# The ends end themselves after this time, so that no failure of the script makes them cost more.
END_MINUTES = 60
# Control plane of one transfer, and prices that are newer than the table's.
REST_USD = 0.02
MOST_MEGABYTES = 4000


@dataclass(frozen=True)
class Options:
    """`relay_type`: the cheapest allowed; `limit_mbps`, Mbit/s: see `limit_for`."""

    name: str
    source: str
    destination: str
    home: str
    regions: tuple[str, ...]
    relay_type: str
    megabytes: int
    limit_mbps: int
    relay_seconds: float
    max_cost_usd: float
    deployed: bool
    keep: bool
    record: Path

    @property
    def transfer_usd(self) -> float:
        """`maxCostUsd` of the request: what the ends leave."""
        return self.max_cost_usd - ends_usd((self.source, self.destination), END_MINUTES * 60)


def limit_for(megabytes: int, relay_seconds: float) -> int:
    """The bandwidth limit, Mbit/s, with which the data still moves when the slowest relay that may join has joined.

    It holds in the sender, over all paths together, so that credits of the network (a t3.small bursts to 5 Gbit/s) do
    not matter. A relay boots for 45 s, its agent takes 15 s and the install some more; the control plane waits 300 s
    for it. 400 MB at 10 Mbit/s take 320 s.
    """
    return int(megabytes * 8 / (relay_seconds * 1.05))


def ends_usd(regions: Sequence[str], seconds: float) -> float:
    """The two end machines with address, disk and the most that their processor credits may cost."""
    book = PriceBook()
    hours = [
        book.instance_hour(END_TYPE, region).usd + book.beside_instance_hour(END_TYPE, region, public=True)
        for region in regions
    ]
    return sum(hours) * seconds / 3600


def least_usd(regions: Sequence[str], relay_type: str, megabytes: int, relay_seconds: float) -> float:
    """What `--max-cost-usd` must allow: the ends for their hour, the pair and its reserve, the data."""
    book = PriceBook()
    seconds = relay_seconds * 1.5 + HELD_SECONDS * 2
    pair = sum(
        book.instance_hour(relay_type, region).usd + book.beside_instance_hour(relay_type, region, public=True)
        for region in regions
    )
    data = megabytes / 1000 * book.egress_gb(*regions).usd
    return ends_usd(regions, END_MINUTES * 60) + pair * seconds / 3600 + data + REST_USD


def parse(arguments: Sequence[str], settings: dict[str, Any]) -> Options:
    """Read the command line against the deployment's settings; ends the command with what would be right."""
    parser = argparse.ArgumentParser(prog="make aws-smoke ARGS=…", description=__doc__)
    parser.add_argument("--yes", action="store_true", help="I know that this spends money on my account")
    parser.add_argument("--max-cost-usd", default="0", help="the most that this run may spend, ends included")
    parser.add_argument("--deployed", action="store_true", help="use the deployment that is there; deploy nothing")
    parser.add_argument("--keep", action="store_true", help="leave the stacks that this run has made")
    parser.add_argument("--megabytes", default="400", help="how much is moved (400)")
    parser.add_argument(
        "--relay-seconds",
        default=f"{JOIN_TIMEOUT_SECONDS:g}",
        help="how long a relay may take until it carries data (as long as the control plane waits, %(default)s)",
    )
    parser.add_argument("--from", dest="source", help="region of the source (the first enrolled one)")
    parser.add_argument("--to", dest="destination", help="region of the destination (the next one)")
    parser.add_argument(
        "--record", type=Path, default=Path("bench/out/aws-smoke-record.json"), help="where answers are kept"
    )
    return _checked(parser.parse_args(arguments), settings, parser.error)


def _checked(given: argparse.Namespace, settings: dict[str, Any], refuse: Any) -> Options:
    enrolled = list(settings["regions"])
    source, destination = _regions(given, enrolled, refuse)
    megabytes = int(_number("--megabytes", given.megabytes, 1, MOST_MEGABYTES, refuse, whole=True))
    relay_seconds = _number("--relay-seconds", given.relay_seconds, 1, 3000, refuse)
    limit = limit_for(megabytes, relay_seconds)
    if limit < 1:
        least = int(relay_seconds * 1.05 / 8) + 1
        refuse(
            f"--megabytes {megabytes}: at 1 Mbit/s, the lowest limit, they are moved before a relay has had its "
            f"{relay_seconds:g} s; give {least} or more"
        )
    relay_type = _relay_type(settings, (source, destination), refuse)
    if not given.record.absolute().parent.is_dir() and given.record.parent != Path("bench/out"):
        refuse(f"--record {given.record}: {given.record.parent} is no directory; name a file in one that exists")
    most = _number("--max-cost-usd", given.max_cost_usd, 0, 1000, refuse)
    least_cost = least_usd((source, destination), relay_type, megabytes, relay_seconds)
    if not given.yes:
        refuse(f"this starts machines for up to ${least_cost:.2f}; say --yes --max-cost-usd {least_cost + 0.005:.2f}")
    if most < least_cost:
        refuse(f"--max-cost-usd {most:g}: this may cost ${least_cost:.2f}; give {least_cost + 0.005:.2f} or more")
    return Options(
        settings.get("name", "cpt"),
        source,
        destination,
        settings["homeRegion"],
        tuple(dict.fromkeys([settings["homeRegion"], *enrolled])),
        relay_type,
        megabytes,
        limit,
        relay_seconds,
        most,
        given.deployed,
        given.keep,
        given.record,
    )


def _regions(given: argparse.Namespace, enrolled: list[str], refuse: Any) -> tuple[str, str]:
    for option, region in (("--from", given.source), ("--to", given.destination)):
        if region is not None and region not in enrolled:
            refuse(f"{option} {region}: not enrolled; name one of {', '.join(enrolled)} (context.cpt.regions)")
    source = given.source or next((one for one in enrolled if one != given.destination), None)
    destination = given.destination or next((one for one in enrolled if one != source), None)
    if source is None or destination is None or source == destination:
        refuse(
            f"context.cpt.regions {', '.join(enrolled)}: source and destination are in two regions; enrol two, and "
            "name different ones with --from and --to"
        )
    return str(source), str(destination)


def _relay_type(settings: dict[str, Any], regions: tuple[str, str], refuse: Any) -> str:
    types: list[str] = settings.get("instanceTypes", ["c6in.large"])
    book = PriceBook()

    def hour(kind: str) -> float | None:
        prices = [book.find_instance_hour(kind, region) for region in regions]
        beside = sum(book.beside_instance_hour(kind, region, public=True) for region in regions)
        return sum(price.usd for price in prices if price) + beside if all(prices) else None

    known = {kind: usd for kind in types if architecture_of(kind) == "x86_64" and (usd := hour(kind)) is not None}
    if not known:
        refuse(
            f"context.cpt.instanceTypes {', '.join(types)}: no x86-64 type whose price is known here, so that the cost "
            "has no bound; add t3.small"
        )
    return min(known, key=lambda kind: known[kind])


def _number(option: str, text: str, least: float, most: float, refuse: Any, *, whole: bool = False) -> float:
    right = f"give {'a whole number' if whole else 'a number'} from {least:g} to {most:g}"
    try:
        value = float(int(text) if whole else float(text))
    except ValueError:
        _refused(refuse, f"{option} {text!r}: {right}")
    if not least <= value <= most:
        _refused(refuse, f"{option} {text}: {right}")
    return value


def _refused(refuse: Any, why: str) -> NoReturn:
    refuse(why)
    raise AssertionError
