"""Whole transfers through the real state machine: with ways through third regions beside one with pairs alone.

Both run at once in one local cloud of six regions, each with machines of its own, every one of which has the same caps
for each other region. The caps change every minute within 40 % of their draw. What a relay carries on each link is told
once, at the beginning; what becomes of it the transfer has to see by itself. Minutes are not scaled, since the control
plane looks, waits and averages in seconds.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench.data_plane import files
from bench.data_plane.bench import Bench
from bench.estimate.site import FLEET, RELAY_TYPE, make_image
from bench.results import say
from bench.routes.changing import DESTINATION, REGIONS, SOURCE, Weather, direct, planned
from cli.figures import tell_figures
from lambdas.core.routes.network_map import Link, NetworkMap
from local.caps import PairCap
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account, Run

SIX = (HOME, OTHER, "us-east-1", "eu-central-1", "ap-northeast-1", "sa-east-1")
END_TYPE = "t3.small"
PAIRS = 4
RELAYS = 2 * PAIRS
# Of the simulation's 5 to 25 MB/s: two transfers with eight relays each are no load for two cores.
SCALE = 0.05
MINUTE_SECONDS = 60.0
# What pairs alone have to do: both transfers see some minutes.
PAIRS_SECONDS = 300.0
# Of the plan of the first minute over pairs: on other maps both transfers would do the same.
LEAST_PLANNED = 1.15
MOST_SECONDS = 900.0
INSIDE_MB_S = 100.0
SPAWN_SECONDS = 5.0
THROUGH = ("auto", "none")


@dataclass(frozen=True)
class Drawn:
    """What a seed gives: the weather of ten minutes between the six regions, and the gain that is planned at first."""

    weather: Weather
    planned: float
    size_mb: float


@dataclass(frozen=True)
class Compared:
    """Seconds of data by `relays.through`; the words of every decision that was taken; what was left anywhere."""

    seed: int
    planned: float
    seconds: Mapping[str, float]
    decisions: Mapping[str, list[str]]
    left: list[str]

    @property
    def ratio(self) -> float:
        """How many times as fast it is with third regions."""
        return self.seconds["none"] / self.seconds["auto"]


def drawn(seed: int) -> Drawn:
    """The same for the same seed; draws on which the first plan has no use for third regions are left out."""
    random = Random(seed)
    while True:
        weather = Weather.drawn(random.randrange(2**32), 1.0)
        first = weather.minutes[0]
        pairs = direct(first, RELAYS).rate(first)
        gain = planned(first, RELAYS).rate(first) / pairs
        if gain >= LEAST_PLANNED:
            alone = first.link(SOURCE, DESTINATION).rate
            return Drawn(named(weather), gain, SCALE * PAIRS_SECONDS * (pairs + alone))


def named(weather: Weather) -> Weather:
    """The weather between AWS's regions in place of letters."""
    names = dict(zip(REGIONS, SIX, strict=True))
    return Weather(
        tuple(
            NetworkMap.of(
                Link(names[one], names[other], rate=link.rate, gain=link.gain) for (one, other), link in minute.items()
            )
            for minute in weather.minutes
        )
    )


def caps(weather: Weather) -> dict[str, PairCap]:
    """The schedule of every link, for the local cloud."""
    return {
        f"{one}>{other}": PairCap.model_validate(
            {
                "MBps": link.rate * SCALE,
                "changes": [
                    {"afterSeconds": minute * MINUTE_SECONDS, "MBps": later.link(one, other).rate * SCALE}
                    for minute, later in enumerate(weather.minutes)
                    if minute
                ],
            }
        )
        for (one, other), link in weather.minutes[0].items()
    }


def compare(bench: Bench, assembly: Path, seed: int) -> Compared:
    """Both transfers of a seed, at once."""
    found = drawn(seed)
    source = bench.folder("source")
    files.large(source, int(found.size_mb * 1e6))
    with _cloud(bench, assembly, found.weather) as account:
        ends = {through: _ends(account, through) for through in THROUGH}
        account.cloud.begin_changes()
        arns = {
            through: account.start(_request(source, bench.work / f"arrived-{through}", ends[through], through), through)
            for through in THROUGH
        }
        runs = {through: account.wait(arn, MOST_SECONDS) for through, arn in arns.items()}
        for through, run in runs.items():
            if run.status != "SUCCEEDED":
                raise WholeError(f"seed {seed}, through {through}: {run.error}: {run.cause}")
        left = [one for through in THROUGH for one in _left(account, through)]
        decisions = {through: _decisions(run) for through, run in runs.items()}
        (bench.work / f"reports-{seed}.json").write_text(json.dumps({name: run.report for name, run in runs.items()}))
    for through in THROUGH:
        if files.digests(bench.work / f"arrived-{through}" / source.name) != files.digests(source):
            left.append(f"{through}: what arrived is not what was sent")
        shutil.rmtree(bench.work / f"arrived-{through}")
    seconds = {through: float(run.report["seconds"]["transfer"]) for through, run in runs.items()}
    return Compared(seed, found.planned, seconds, decisions, left)


class WholeError(Exception):
    """A transfer failed; the message says which, and why."""


@contextmanager
def _cloud(bench: Bench, assembly: Path, weather: Weather) -> Iterator[Account]:
    """A cloud of its own, in which each link's rate of the first minute is known."""
    settings: dict[str, Any] = {
        "port": 0,
        "instances": "netns",
        "regions": list(SIX),
        "launchSeconds": 1.0,
        "bootSeconds": 0,
        "image": str(make_image(bench.work / "image")),
        "caps": {"between": {pair: cap.model_dump(by_alias=True) for pair, cap in caps(weather).items()}},
    }
    with LocalCloud(LocalConfig.model_validate(settings), bench.folder("state"), assembly) as cloud:
        account = Account(cloud, bench.work, (END_TYPE, END_TYPE))
        for (one, other), link in weather.minutes[0].items():
            types = [RELAY_TYPE, END_TYPE] if (one, other) == (HOME, OTHER) else [RELAY_TYPE]
            rates = {"interRegionMBps": link.rate * SCALE, "intraRegionMBps": INSIDE_MB_S}
            tell_figures(account.aws, f"{one}>{other}", types, rates, SPAWN_SECONDS)
        for function in FLEET:
            account.aws.client("lambda").invoke(FunctionName=function, Payload=b"{}")
        yield account


def _ends(account: Account, through: str) -> dict[str, str]:
    if through == THROUGH[0]:
        return {"source": account.source, "destination": account.destination}
    regions = {"source": HOME, "destination": OTHER}
    return {side: account.cloud.launch_vm(region, f"{side}-2", END_TYPE) for side, region in regions.items()}


def _request(source: Path, arrives: Path, ends: Mapping[str, str], through: str) -> dict[str, Any]:
    return {
        "source": {"instanceId": ends["source"], "region": HOME, "paths": [str(source)]},
        "destination": {"instanceId": ends["destination"], "region": OTHER, "path": str(arrives)},
        "preTest": False,
        "relays": {"pairs": PAIRS, "through": through, "instanceTypes": [RELAY_TYPE]},
        "objective": {"minimise": "time"},
        "chunkSizeMiB": 1,
    }


def _left(account: Account, through: str) -> list[str]:
    """Machines that still run and rules that are still there, in any region."""
    found = []
    for region in SIX:
        machines = account.launched(through, region)
        found += [f"{through}: {one['InstanceId']}" for one in machines if one["State"]["Name"] != "terminated"]
        found += [f"{through}: {one['SecurityGroupRuleId']}" for one in account.rules(through, region)]
    return found


def _decisions(run: Run) -> list[str]:
    return [f"{one['afterSeconds']:.0f} s: {one['reason']}" for one in run.report.get("decisions", [])]


def tell(found: Compared) -> None:
    """One line about a seed, and one for each decision."""
    auto, none = (found.seconds[through] for through in THROUGH)
    say(
        f"  seed {found.seed}: {auto:.0f} s, pairs alone {none:.0f} s: {found.ratio:.3f} ×, planned {found.planned:.3f}"
    )
    for words in found.decisions["auto"]:
        say(f"    after {words}")
    for one in found.left:
        say(f"    left: {one}")
