"""Relays of 20 MB/s each between ends of 160 MB/s, looked at every 30 s."""

from collections.abc import Mapping

import pytest

from lambdas.core.chunks.progress import LaneProgress, Progress
from lambdas.core.fleet import relay_watch
from lambdas.core.fleet.membership import Hop, Membership, TransferPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.relay_watch import Circumstances, Suspicion, Watch
from tests.lambdas.builders import node

CHUNK = 1_000_000
ENDS = 160.0
PLENTY = Circumstances(ends=ENDS, remaining=10**12, chunk_bytes=CHUNK)


def path(path_id: str, *nodes: str, generation: int = 0) -> TransferPath:
    hops = [Hop(node_id=node_id, address="10.0.0.1:4600") for node_id in nodes]
    return TransferPath(path_id=path_id, generation=generation, hops=hops, receiver="10.0.0.2:4600", lanes=1)


def pair(slot: int) -> TransferPath:
    return path(f"pair-{slot}", f"source-{slot}-0", f"destination-{slot}-0")


def joined(stage: int | str, slot: int, tested: float | None = 20.0, instance_type: str = "t3.small") -> Node:
    return node(
        stage,
        slot,
        state="JOINED",
        instance_type=instance_type,
        measured_inter_region=tested,
        measured_intra_region=tested and 8 * tested,
    )


class Fleet:
    """Paths that carry what they are told, one lane each, for as long as they are told."""

    def __init__(self, *paths: TransferPath, tested: float | None = 20.0, direct: bool = True) -> None:
        self.paths = [path("direct"), *paths] if direct else list(paths)
        names = sorted({hop.node_id for each in paths for hop in each.hops})
        self.relays = [joined(name.split("-")[0], int(name.split("-")[1]), tested) for name in names]
        self.watch, self.at, self.epoch = Watch(), 1000.0, 1
        self.limit: int | None = None
        self.bytes: dict[str, int] = {each.path_id: 0 for each in self.paths}

    def carry(self, seconds: float, rates: Mapping[str, float], *, silent: tuple[str, ...] = ()) -> None:
        """Look, then carry `rates` MB/s; the next call looks at what came of it. `silent` paths have no lane."""
        self.at += seconds
        for path_id, rate in rates.items():
            self.bytes[path_id] += int(rate * 1e6 * seconds)
        self.look(silent)

    def look(self, silent: tuple[str, ...] = ()) -> None:
        membership = self.membership
        lanes = [
            LaneProgress(path_id=path_id, lane=0, bytes=count, rate=0.0)
            for path_id, count in self.bytes.items()
            if path_id not in silent
        ]
        report = Progress(
            schema_version=1,
            epoch=self.epoch,
            sequence=1,
            bytes=0,
            chunks=0,
            files=0,
            failed_chunks=0,
            rate=0.0,
            at=self.at,
            lanes=lanes,
        )
        new = relay_watch.look(report, membership)
        self.watch = relay_watch.seen(self.watch, new, relay_watch.paths_through(membership), CHUNK)

    @property
    def membership(self) -> Membership:
        return Membership(version=1, paths=self.paths, bandwidth_limit_mbps=self.limit)

    def suspicions(self, now: Circumstances = PLENTY) -> list[Suspicion]:
        return relay_watch.judge(self.watch, self.relays, relay_watch.paths_through(self.membership), now)

    def suspects(self, now: Circumstances = PLENTY) -> dict[str, str]:
        return {found.node_id: found.verdict for found in self.suspicions(now)}


def three_pairs(tested: float | None = 20.0) -> Fleet:
    fleet = Fleet(pair(1), pair(2), pair(3), tested=tested)
    fleet.carry(10, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 20})
    return fleet


def test_relays_that_carry_what_they_were_tested_for_are_healthy() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 18, "pair-2": 11, "pair-3": 20})
    assert fleet.suspects() == {}


def test_both_relays_of_a_slow_pair_are_suspects() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 5, "pair-3": 20})
    assert fleet.suspicions() == [
        Suspicion("destination-2-0", "slow", 5.0, 20.0),
        Suspicion("source-2-0", "slow", 5.0, 20.0),
    ]


def test_shorter_than_the_set_time_is_a_hiccup() -> None:
    fleet = three_pairs()
    fleet.carry(20, {"direct": 20, "pair-1": 20, "pair-2": 2, "pair-3": 20})
    assert fleet.suspects() == {}
    fleet.carry(20, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 20})
    assert fleet.suspects() == {}


def test_reports_of_28_s_apart_are_enough_for_looks_every_half_minute() -> None:
    fleet = three_pairs()
    fleet.carry(28, {"direct": 20, "pair-1": 20, "pair-2": 5, "pair-3": 20})
    assert set(fleet.suspects()) == {"source-2-0", "destination-2-0"}


def test_slow_is_seen_within_a_minute_of_looks_every_half() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 20})
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 4, "pair-3": 20})
    assert set(fleet.suspects()) == {"source-2-0", "destination-2-0"}


@pytest.mark.parametrize("share", [0.6, 0.3, 0.1])
def test_paths_that_fall_together_show_slow_ends(share: float) -> None:
    fleet = three_pairs()
    fleet.carry(30, dict.fromkeys(("direct", "pair-1", "pair-2", "pair-3"), 20 * share))
    assert fleet.suspects() == {}


def test_one_pair_beside_a_direct_path_at_its_full_rate_is_slow_by_itself() -> None:
    fleet = Fleet(pair(1))
    fleet.carry(10, {"direct": 20, "pair-1": 20})
    fleet.carry(30, {"direct": 20, "pair-1": 5})
    assert set(fleet.suspects()) == {"source-1-0", "destination-1-0"}


def test_one_pair_that_falls_with_the_direct_path_is_not_slow() -> None:
    fleet = Fleet(pair(1))
    fleet.carry(10, {"direct": 20, "pair-1": 20})
    fleet.carry(30, {"direct": 20, "pair-1": 20})
    fleet.carry(30, {"direct": 5, "pair-1": 5})
    assert fleet.suspects() == {}


def test_direct_path_that_fills_the_ends_alone_leaves_little_for_relays() -> None:
    fleet = Fleet(pair(1))
    fleet.carry(10, {"direct": 155, "pair-1": 5})
    fleet.carry(30, {"direct": 155, "pair-1": 5})
    assert fleet.suspects() == {}
    assert set(fleet.suspects(Circumstances(ends=1000.0, remaining=10**12, chunk_bytes=CHUNK))) == {
        "source-1-0",
        "destination-1-0",
    }


def test_one_pair_without_a_direct_path_cannot_be_told_from_slow_ends() -> None:
    fleet = Fleet(pair(1), direct=False)
    fleet.carry(10, {"pair-1": 20})
    fleet.carry(30, {"pair-1": 5})
    assert fleet.suspects() == {}


def test_untested_relay_is_held_against_its_own_best_and_its_like() -> None:
    fleet = three_pairs(tested=None)
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 4})
    assert set(fleet.suspects()) == {"source-3-0", "destination-3-0"}
    alone = Fleet(pair(1), tested=None)
    alone.carry(10, {"direct": 20, "pair-1": 20})
    alone.carry(30, {"direct": 20, "pair-1": 20})
    alone.carry(30, {"direct": 20, "pair-1": 4})
    assert set(alone.suspects()) == {"source-1-0", "destination-1-0"}


def test_pair_with_a_machine_that_lends_a_share_is_not_held_against_its_neighbours() -> None:
    fleet = three_pairs(tested=None)
    lent = "source-3-0"
    fleet.relays = [
        each.model_copy(update={"provider": "lent"}) if each.node_id == lent else each for each in fleet.relays
    ]
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 4})
    assert fleet.suspects() == {}


def test_relay_of_another_type_is_not_held_against_its_neighbours() -> None:
    fleet = three_pairs(tested=None)
    fleet.relays = [
        joined(each.stage, each.slot, None, f"t3.{'nano' if each.slot == 3 else 'small'}") for each in fleet.relays
    ]
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 4})
    assert fleet.suspects() == {}


def test_just_joined_relay_is_given_time() -> None:
    fleet = Fleet(pair(1), pair(2))
    fleet.carry(30, {"direct": 20, "pair-1": 20})
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 2})  # it had delivered nothing when this began
    assert fleet.suspects() == {}
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 2})
    assert set(fleet.suspects()) == {"source-2-0", "destination-2-0"}


def test_successor_begins_anew() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 20})
    fleet.paths[2] = path("pair-2", "source-2-1", "destination-2-0", generation=1)
    fleet.relays.append(node("source", 2, 1, state="JOINED"))
    fleet.bytes["pair-2"] = 0
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 1, "pair-3": 20})
    assert fleet.suspects() == {}


def test_relay_without_lanes_while_others_carry_is_silent() -> None:
    fleet = three_pairs()
    carrying = {"direct": 20, "pair-1": 20, "pair-3": 20}
    fleet.carry(2, carrying, silent=("pair-2",))
    assert fleet.suspects() == {}
    fleet.carry(30, carrying, silent=("pair-2",))
    assert fleet.suspects() == {"source-2-0": "silent", "destination-2-0": "silent"}


def test_relay_that_takes_bytes_and_delivers_none_is_silent() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 0, "pair-3": 20})
    assert fleet.suspects() == {"source-2-0": "silent", "destination-2-0": "silent"}


def test_nobody_is_silent_where_nothing_moves() -> None:
    fleet = three_pairs()
    fleet.carry(30, {})
    assert fleet.suspects() == {}


def test_idle_relay_at_the_end_is_not_slow() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 2, "pair-3": 20})
    assert fleet.suspects(Circumstances(ends=ENDS, remaining=4 * CHUNK, chunk_bytes=CHUNK)) == {}


def test_chunk_that_is_all_but_delivered_counts_for_the_relay() -> None:
    fleet = three_pairs()
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 8, "pair-3": 20})
    assert set(fleet.suspects()) == {"source-2-0", "destination-2-0"}
    assert fleet.suspects(Circumstances(ends=ENDS, remaining=10**12, chunk_bytes=64_000_000)) == {}


def test_restarted_sender_begins_anew() -> None:
    fleet = three_pairs()
    fleet.epoch = 2
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 2, "pair-3": 20})
    assert fleet.suspects() == {}
    assert len(fleet.watch.looks) == 1


def test_rates_under_a_limit_are_not_held_against_relays_once_it_is_lifted() -> None:
    fleet = three_pairs()
    fleet.limit = 80
    fleet.look()
    fleet.carry(60, {"direct": 2.5, "pair-1": 2.5, "pair-2": 2.5, "pair-3": 2.5})
    fleet.limit = None
    fleet.carry(5, {"direct": 20, "pair-1": 20, "pair-2": 8, "pair-3": 20})
    assert fleet.suspects() == {}
    fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 5, "pair-3": 20})
    assert set(fleet.suspects()) == {"source-2-0", "destination-2-0"}


def test_look_at_the_same_report_again_adds_nothing() -> None:
    fleet = three_pairs()
    before = fleet.watch
    fleet.look()
    assert fleet.watch is before


def test_few_looks_are_kept() -> None:
    fleet = three_pairs()
    for _ in range(100):
        fleet.carry(30, {"direct": 20, "pair-1": 20, "pair-2": 20, "pair-3": 20})
    assert len(fleet.watch.looks) == 5
    assert set(fleet.watch.best) == {"direct", *(each.node_id for each in fleet.relays)}


def mesh() -> Fleet:
    paths = [path(f"pair-{s}-{d}", f"source-{s}-0", f"destination-{d}-0") for s in (1, 2) for d in (1, 2, 3)]
    fleet = Fleet(*paths, tested=20.0)
    fleet.carry(10, {"direct": 20, **{each.path_id: 6.0 for each in paths}})
    return fleet


def test_mesh_tells_which_relay_is_slow() -> None:
    fleet = mesh()
    slow = {f"pair-{s}-{d}": 1.0 if d == 2 else 9.0 for s in (1, 2) for d in (1, 2, 3)}
    fleet.carry(30, {"direct": 20, **slow})
    assert fleet.suspects() == {"destination-2-0": "slow"}


def test_side_of_many_relays_that_a_few_cannot_feed_is_not_slow() -> None:
    paths = [path(f"pair-1-{d}", "source-1-0", f"destination-{d}-0") for d in (1, 2, 3)]
    fleet = Fleet(*paths, tested=20.0)
    fleet.carry(10, {"direct": 20, **{each.path_id: 6.0 for each in paths}})
    fleet.carry(30, {"direct": 20, **{each.path_id: 6.0 for each in paths}})
    assert fleet.suspects() == {}
