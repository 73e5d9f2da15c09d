"""Caps by pair of regions and their changes: what is refused, what holds at a moment, and what the kernel is told."""

import itertools
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.caps import CapChange, Caps, PairCap, changed
from local.config import ConfigError, LocalConfig, load_config
from local.instances.clock import Clock
from local.instances.fleet import Fleet
from local.instances.model import AddressPlan, CommandResult, Held, Instance

A, B = "us-west-2", "eu-west-1"
PAIR, BACK = f"{A}>{B}", f"{B}>{A}"
SOON = 0.5


def document(between: dict[str, Any], caps: dict[str, Any] | None = None) -> LocalConfig:
    settings = {
        "instances": "netns",
        "bootSeconds": 0,
        "launchSeconds": 0,
        "caps": {"between": between, **(caps or {})},
    }
    return LocalConfig.model_validate(settings)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            '"us-west-2>mars-1"]\nMBps = 1',
            r'caps.between."us-west-2>mars-1": mars-1 is none of regions = \[\'us-west-2',
        ),
        ('"us-west-2>us-west-2"]\nMBps = 1', r'caps.between."us-west-2>us-west-2": a pair has two regions'),
        ('"us-west-2"]\nMBps = 1', "caps.between.us-west-2.* = 'us-west-2': String should match pattern"),
        ('"us-west-2>eu-west-1"]\nMBps = -1', "caps.between.us-west-2>eu-west-1.MBps = -1: .*greater than 0"),
        ('"us-west-2>eu-west-1"]\nMbps = 1', "caps.between.us-west-2>eu-west-1.Mbps = 1: no such key"),
        (
            '"us-west-2>eu-west-1"]\nMBps = 1\nchanges = [{afterSeconds = 1}]',
            r"between.us-west-2>eu-west-1.changes.0 = {'afterSeconds': 1}: give factor or MBps, one of both",
        ),
    ],
)
def test_wrong_pairs_are_refused_by_key_and_value(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "local.toml").write_text(f'instances = "netns"\n[caps.between.{text}\n')
    with pytest.raises(ConfigError, match=named):
        load_config(tmp_path / "local.toml")


def test_processes_have_no_caps_by_pair(tmp_path: Path) -> None:
    (tmp_path / "local.toml").write_text('[caps.between."us-west-2>eu-west-1"]\nMBps = 1\n')
    with pytest.raises(ConfigError, match=r'local.toml: caps.between."us-west-2>eu-west-1" needs instances = netns'):
        load_config(tmp_path / "local.toml")


def test_pairs_survive_the_round_trip_to_the_emulator() -> None:
    config = document(
        {PAIR: {"MBps": 20, "changes": [{"afterSeconds": 1, "MBps": 5}, {"afterSeconds": 2, "factor": 3}]}}
    )
    assert LocalConfig.model_validate_json(config.model_dump_json(by_alias=True)) == config


@pytest.mark.parametrize(("now", "cap"), [(99, 20), (100.9, 20), (101, 5), (103, 60), (1000, 60)])
def test_the_latest_change_that_has_come_holds_whatever_their_order(now: float, cap: float) -> None:
    changes = [CapChange(after_seconds=2, factor=3), CapChange(after_seconds=1, mb_s=5)]
    assert changed(20, changes, 100, now) == cap


def test_a_vms_own_changes_may_name_a_rate_too() -> None:
    caps = Caps.model_validate({"interRegionMBps": 20, "changes": [{"afterSeconds": 1, "MBps": 5}]})
    assert [caps.at(0, now).inter_region_mb_s for now in (0.5, 1)] == [20, 5]


class Told:
    """A backend that writes down what it is told to hold instances to."""

    def __init__(self) -> None:
        self.held: queue.Queue[tuple[str, str, Held]] = queue.Queue()
        self.launching, self.may_launch = threading.Event(), threading.Event()
        self.may_launch.set()

    def launch(self, instance: Instance) -> None:
        self.held.put(("launch", instance.instance_id, instance.held))
        self.launching.set()
        self.may_launch.wait(10)

    def apply_caps(self, instance: Instance) -> None:
        self.held.put(("apply", instance.instance_id, instance.held))

    def run(self, instance: Instance, script: str, env: dict[str, str], timeout: float) -> CommandResult:
        return CommandResult(0, "", "")

    def halt(self, instance: Instance) -> None: ...

    def terminate(self, instance: Instance) -> None: ...

    def apply_rules(self, instance: Instance, ruleset: str) -> None: ...

    def next(self) -> tuple[str, str, float]:
        """What was told, of which instance, and the cap of the pair; in the order of time."""
        told, instance_id, held = self.held.get(timeout=10)
        return told, instance_id, held.between[PAIR]


@pytest.fixture
def told() -> Iterator[Told]:
    backend = Told()
    yield backend
    backend.may_launch.set()


def fleet_of(told: Told, config: LocalConfig) -> Fleet:
    return Fleet(config, AddressPlan("netns", (A, B)), told, Clock())


numbers = itertools.count(1)


def add(fleet: Fleet, instance_id: str, region: str = A, caps: Caps | None = None) -> None:
    number = next(numbers)
    fleet.add(
        Instance(
            instance_id=instance_id,
            account="0",
            region=region,
            zone=f"{region}a",
            instance_type="t3.small",
            image_id="ami",
            number=number,
            private_address=f"10.10.0.{number}",
            public_address="",
            role=None,
            profile_arn=None,
            caps=caps or Caps(),
            home=Path("/nowhere"),
            launch_number=number,
        )
    )


def test_changes_count_from_the_start_and_later_launches_begin_with_them(told: Told) -> None:
    fleet = fleet_of(told, document({PAIR: {"MBps": 20, "changes": [{"afterSeconds": SOON, "MBps": 5}]}}))
    add(fleet, "early")
    assert told.next() == ("launch", "early", 20)
    assert told.next() == ("apply", "early", 5)
    add(fleet, "late")
    assert told.next() == ("launch", "late", 5)


def test_a_restart_holds_for_running_instances_before_it_returns_and_counts_anew(told: Told) -> None:
    fleet = fleet_of(told, document({PAIR: {"MBps": 20, "changes": [{"afterSeconds": SOON, "factor": 0.5}]}}))
    running = threading.Event()
    fleet.before_running = lambda instance: running.set()
    add(fleet, "one")
    while told.next()[-1] != 10:
        pass
    assert running.wait(10)
    fleet.begin_changes({PAIR: PairCap(mb_s=7)})
    assert told.held.qsize() == 1
    assert told.next() == ("apply", "one", 7)
    fleet.begin_changes()
    assert told.next() == ("apply", "one", 20)
    assert told.next() == ("apply", "one", 10)


def test_a_change_during_a_launch_is_not_lost(told: Told) -> None:
    fleet = fleet_of(told, document({PAIR: {"MBps": 20}}))
    told.may_launch.clear()
    add(fleet, "one")
    assert told.launching.wait(10)
    fleet.begin_changes({PAIR: PairCap(mb_s=7)})
    told.may_launch.set()
    assert [told.next() for _ in range(2)] == [("launch", "one", 20), ("apply", "one", 7)]


def test_an_instances_own_changes_count_from_its_launch(told: Told) -> None:
    fleet = fleet_of(told, document({}))
    for instance_id in ("one", "two"):
        caps = Caps.model_validate({"interRegionMBps": 40, "changes": [{"afterSeconds": SOON, "factor": 0.25}]})
        add(fleet, instance_id, caps=caps)
        found = [told.held.get(timeout=10) for _ in range(2)]
        assert [(what, who, held.caps.inter_region_mb_s) for what, who, held in found] == [
            ("launch", instance_id, 40),
            ("apply", instance_id, 10),
        ]


def test_other_pairs_are_refused_by_name(told: Told) -> None:
    fleet = fleet_of(told, document({PAIR: {"MBps": 20}}))
    with pytest.raises(ValueError, match=f"between: {BACK}; the pairs of this cloud's configuration are {PAIR}"):
        fleet.begin_changes({BACK: PairCap(mb_s=1)})
