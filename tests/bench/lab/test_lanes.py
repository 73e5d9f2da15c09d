"""Streams on a path that is computed, and what decides on their number."""

from itertools import pairwise
from random import Random

import pytest

from bench.data_plane.__main__ import DAEMON
from bench.lab.controllers import MOST, Falcon, Fixed, Pcp, Xet, sender
from bench.lab.lanes import MB, STEP, Flow, Network, Path
from bench.lab.tuning import Growing, Setting

LONG = Path([(0.0, 100.0)], 0.1, 4 << 20, 10e6)


def run(path: Path, count: int, seconds: float, seed: int = 1) -> Flow:
    flow = Flow()
    flow.set(count)
    network = Network(path, [flow], Random(seed))
    while network.now < seconds:
        network.step()
    return flow


def test_one_stream_carries_half_of_its_buffer_each_round_trip() -> None:
    flow = run(LONG, 1, 60)
    # 2 MiB each 100 ms are 20.97 MB/s; slow start from 14 480 bytes takes log2(145) = 7.2 round trips.
    assert flow.moved / 60 / MB == pytest.approx(20.97, rel=0.02)
    assert flow.buffer_limited / flow.busy > 0.95


def test_many_streams_fill_the_path_and_wait_for_no_buffer() -> None:
    flow = run(LONG, 16, 60)
    assert 0.9 < flow.moved / 60 / MB / 100 <= 1
    assert flow.buffer_limited / flow.busy < 0.2
    assert flow.lost > 0


def test_the_same_seed_loses_the_same() -> None:
    assert run(LONG, 16, 10, seed=3).moved == run(LONG, 16, 10, seed=3).moved
    assert run(LONG, 16, 10, seed=3).moved != run(LONG, 16, 10, seed=4).moved


def test_two_flows_with_as_many_streams_share_alike() -> None:
    flows = [Flow(), Flow()]
    for flow in flows:
        flow.set(8)
    network = Network(LONG, flows, Random(1))
    while network.now < 60:
        network.step()
    assert flows[0].moved == pytest.approx(flows[1].moved, rel=0.1)


def test_a_path_that_becomes_wider_carries_more_from_then_on() -> None:
    path = Path([(0.0, 10.0), (10.0, 100.0)], 0.05, 4 << 20, 5e6)
    assert path.rate(9.9) == 10 * MB
    assert path.rate(10.0) == 100 * MB
    assert run(path, 8, 20).moved > 0.8 * (100 + 1000) * MB


def test_falcon_climbs_while_more_streams_carry_more_and_never_leaves_its_bounds() -> None:
    falcon, flow = Falcon(), Flow()
    network = Network(LONG, [flow], Random(1))
    seen = set()
    while network.now < 120:
        flow.set(falcon.look(network.now, flow))
        network.step()
        seen.add(len(flow.streams))
    assert max(seen) >= 4
    assert min(seen) >= 1
    assert max(seen) <= MOST


def test_xet_begins_with_one_and_adds_one_at_a_time() -> None:
    xet, flow = Xet(), Flow()
    network = Network(LONG, [flow], Random(1))
    counts = [1]
    while network.now < 30:
        flow.set(xet.look(network.now, flow))
        network.step()
        counts.append(len(flow.streams))
    assert counts[0] == 1
    assert {abs(b - a) for a, b in pairwise(counts)} == {0, 1}
    assert max(counts) > 4


def test_pcp_decides_once_a_chunk() -> None:
    pcp, flow = Pcp(Growing(Setting(1), ("concurrency",)), 10.0), Flow()
    network = Network(LONG, [flow], Random(1))
    changes = []
    while network.now < 60:
        count = pcp.look(network.now, flow)
        if count != len(flow.streams):
            changes.append((round(network.now), count))
        flow.set(count)
        network.step()
    assert changes[:3] == [(0, 1), (10, 2), (20, 4)]


def test_a_fixed_number_stays() -> None:
    assert Fixed(7).look(3.0, Flow()) == 7
    assert STEP < 0.05


def test_the_sender_itself_takes_as_many_lanes_as_fill_the_path() -> None:
    flow = Flow()
    network = Network(LONG, [flow], Random(1))
    with sender(DAEMON, LONG) as controller:
        while network.now < 10:
            flow.set(controller.look(network.now, flow))
            network.step()
    # A lane carries 21 MB/s, so that five are the least that can.
    assert 5 <= len(flow.streams) <= 32
    assert flow.moved / 10 / MB > 80
