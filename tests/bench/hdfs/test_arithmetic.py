"""What is computed from times of either tool."""

import pytest

from bench.hdfs import arithmetic
from bench.hdfs.network import MAPS, RUNNER, SMALL, WORKERS, Rates


def test_the_bound_is_what_packets_leave_of_the_sum_of_the_caps() -> None:
    assert arithmetic.bound_seconds(144.8, [5.0, 5.0]) == pytest.approx(15.14)


@pytest.mark.parametrize(("files", "rounds"), [(1, 1), (7, 1), (8, 2), (14, 2), (15, 3)])
def test_maps_copy_in_rounds(files: int, rounds: int) -> None:
    assert arithmetic.rounds_seconds(files, 7, 10.0) == rounds * 10.0


def test_of_several_runs_the_middle_one_counts_without_the_start() -> None:
    assert arithmetic.middle([9.0, 12.0, 10.0], start_seconds=4.0) == 6.0


def test_the_worst_ratio_names_its_number_of_files() -> None:
    assert arithmetic.worst_ratio({1: 5.0, 8: 9.0}, {1: 10.0, 8: 6.0}) == (1.5, 8)


def test_the_step_compares_a_file_more_than_maps_with_one_for_each() -> None:
    assert arithmetic.step({7: 40.0, 8: 70.0}, 7) == 1.75


def test_the_share_of_the_gain_is_one_where_pairs_help_as_the_model_says() -> None:
    assert arithmetic.share_of_gain(60.0, 30.0, 60.0, 30.0) == 1.0
    assert arithmetic.share_of_gain(60.0, 40.0, 60.0, 30.0) == 0.75


def test_a_name_node_bounds_the_files_of_a_second_by_its_calls() -> None:
    assert arithmetic.files_a_second(4000.0, 8.0) == 500.0


def test_the_maps_machine_has_what_all_workers_have_together() -> None:
    rates = Rates(worker_mb_s=10.0, inside_mb_s=100.0)
    caps = rates.caps()
    assert caps["byType"][RUNNER] == {"interRegionMBps": 10.0 * WORKERS, "intraRegionMBps": 100.0 * WORKERS}
    assert caps["interRegionMBps"] * WORKERS == rates.sum_mb_s
    assert caps["byType"][SMALL]["intraRegionMBps"] == caps["intraRegionMBps"]


def test_as_many_maps_as_the_figures_have_do_not_fill_the_workers() -> None:
    rates = Rates()
    assert MAPS * rates.map_mb_s <= rates.sum_mb_s * arithmetic.DATA_OF_PACKETS, "else the step would be the caps'"
