"""The arithmetic behind the data plane's benchmark."""

import pytest

from bench.data_plane.arithmetic import bound, capped_rate, payload_share, steady_rate


def test_bound_divides_all_cores_by_what_a_gigabyte_costs() -> None:
    assert bound(2, {"TCP": 0.25, "seal": 0.125, "open": 0.125}) == pytest.approx(4e9)


def test_headers_of_small_packets_and_records_are_not_payload() -> None:
    assert payload_share(1500) == pytest.approx(1448 / 1514 * 16384 / 16406)
    assert payload_share(1500) < 0.96 < 0.99 < payload_share(9001)


@pytest.mark.parametrize(
    ("pairs", "allowed"),
    [([20.0], 40.0), ([20.0] * 4, 100.0), ([20.0] * 7, 160.0), ([20.0] * 9, 160.0), ([], 20.0)],
)
def test_caps_add_up_until_an_end_is_full(pairs: list[float], allowed: float) -> None:
    assert capped_rate(source=160, destination=160, ends=20, pairs=pairs) == allowed


def test_a_slower_destination_is_the_limit() -> None:
    assert capped_rate(source=160, destination=70, ends=20, pairs=[20, 20, 20]) == 70


def test_steady_rate_leaves_out_a_slow_start_and_a_slow_end() -> None:
    samples = [(0.0, 0), (5.0, 20), (6.0, 40), (8.0, 80), (8.5, 90), (20.0, 100)]
    assert steady_rate(samples, payload=100) == pytest.approx(70 / 3.5)


def test_steady_rate_counts_payload_only() -> None:
    samples = [(float(second), 1000 + 110 * second) for second in range(11)]
    assert steady_rate(samples, payload=1000) == pytest.approx(100)


def test_what_came_twice_lowers_the_steady_rate() -> None:
    once = [(float(second), 100 * second) for second in range(11)]
    twice = [(float(second), 200 * second) for second in range(11)]
    assert steady_rate(twice, payload=1000) == pytest.approx(steady_rate(once, payload=1000))
