import pytest

from lambdas.core.pool.energy import node_seconds, own_over_pool, own_relays_wh, pool_wh, transfer_wh


def test_the_papers_example_takes_almost_twice_the_energy_without_a_pool() -> None:
    """N_extra 5, as many applications as nodes, c 1.2: (2 + 5) over (2 + 1) · 1.2."""
    assert own_over_pool(applications=8, extra_vms=5, pool_nodes=8, c=1.2) == pytest.approx(7 / 3.6)


def test_equation_two_counts_both_ends_in_the_nodes_watts() -> None:
    """The printed one multiplies N_extra alone by 200 W."""
    switches, nodes = 4 * (2 + 5) / 24 * 60.0, 4 * (2 + 5) * 200.0
    assert own_relays_wh(4, 5, 7200.0) == pytest.approx((switches + nodes) * 2)


def test_equation_three_as_printed() -> None:
    power = 4 * 2 / 24 * 60.0 + 4 * 2 * 200.0 + 5 * 60.0 / 24 + 5 * 200.0
    assert pool_wh(4, 5, 1800.0, 1.2) == pytest.approx(power * 0.5 * 1.2)


def test_any_transfer_takes_its_ends_its_relays_and_its_part_of_the_pool() -> None:
    assert transfer_wh(2, 3600.0) == pytest.approx(405.0)
    assert transfer_wh(2, 3600.0, [1800.0, 1800.0], 3600.0) == pytest.approx(4 * 202.5)
    assert node_seconds(6000.0, 100.0) == 60.0
    with pytest.raises(ValueError, match="capacity_mb_s: 0"):
        node_seconds(1.0, 0.0)
