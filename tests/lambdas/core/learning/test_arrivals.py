import pytest

from tests.lambdas.builders import chunk
from tests.lambdas.traffic import read


def test_bytes_are_spread_over_the_time_of_their_arrival() -> None:
    found = read([chunk(0, bytes=300, path_id="direct", started_at=10.5, delivered_at=12.0)])
    assert found.per_second == {(10, "direct"): pytest.approx(100.0), (11, "direct"): pytest.approx(200.0)}


def test_a_chunk_has_arrived_when_its_lane_turns_to_the_next_though_it_is_not_on_disk_yet() -> None:
    one = chunk(0, bytes=100, path_id="direct", lane=0, started_at=10.0, delivered_at=14.0)
    two = chunk(1, bytes=100, path_id="direct", lane=0, started_at=11.0, delivered_at=12.0)
    assert read([one, two]).per_second == {(10, "direct"): 100.0, (11, "direct"): 100.0}


def test_lanes_do_not_cut_each_other_short() -> None:
    one = chunk(0, bytes=100, path_id="direct", lane=0, started_at=10.0, delivered_at=12.0)
    two = chunk(1, bytes=100, path_id="direct", lane=1, started_at=11.0, delivered_at=12.0)
    assert read([one, two]).per_second == {(10, "direct"): 50.0, (11, "direct"): 150.0}


def test_chunk_that_took_no_time_arrived_at_once() -> None:
    found = read([chunk(0, bytes=7, path_id="pair-1", started_at=10.25, delivered_at=10.25)])
    assert found.per_second == {(10, "pair-1"): 7.0}


def test_times_out_of_order_lose_no_bytes() -> None:
    late = chunk(0, bytes=100, path_id="direct", lane=0, started_at=20.0, delivered_at=21.0, attempt=2)
    early = chunk(1, bytes=100, path_id="direct", lane=0, started_at=10.0, delivered_at=9.0)
    assert sum(read([late, early]).per_second.values()) == pytest.approx(200.0)


def test_chunk_without_times_counts_nowhere() -> None:
    found = read([chunk(0, path_id="direct")])
    assert (found.per_second, found.begun, found.drained) == ({}, {}, None)


def test_queue_is_empty_when_the_last_chunk_was_first_taken() -> None:
    chunks = [
        chunk(0, path_id="direct", started_at=10.0, delivered_at=11.0),
        chunk(1, path_id="pair-1", started_at=12.0, delivered_at=13.0),
        chunk(2, path_id="direct", started_at=15.0, delivered_at=16.0, attempt=2),
        chunk(3, path_id="direct", started_at=17.0, delivered_at=18.0, phase=1),
    ]
    found = read(chunks)
    assert found.drained == 12.0
    assert found.begun == {"direct": 10.0, "pair-1": 12.0}
