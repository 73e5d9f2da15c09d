from random import Random

import pytest

from lambdas.core.pool.placement import Host, Placed, given_back, place, placed_anew, width


def hosts(*capacities: float, zone: str = "a") -> list[Host]:
    return [Host(f"n{number}", zone, capacity) for number, capacity in enumerate(capacities, 1)]


@pytest.mark.parametrize(
    ("share", "active", "nodes"),
    [(500.0, 1, 5), (250.0, 2, 5), (100.0, 5, 4), (25.0, 20, 1), (26.0, 1, 2), (0.0, 1, 1)],
)
def test_a_share_takes_as_many_nodes_as_it_has_parts(share: float, active: int, nodes: int) -> None:
    assert width(share, active, hosts(*[100.0] * 5), 4, share * active) == nodes


def test_where_leases_are_scarce_there_is_one_for_each_transfer() -> None:
    for active in range(1, 21):
        nodes = width(500.0 / active, active, hosts(*[100.0] * 5), 4, 500.0)
        assert nodes * active <= 20
    assert width(25.0, 20, hosts(*[100.0] * 5), 4, 500.0) == 1
    assert width(10.0, 1, [], 4, 10.0) == 1


def test_the_least_loaded_for_its_capacity_comes_first() -> None:
    every = [Host("n1", "a", 100.0, 1, 50.0), Host("n2", "a", 200.0, 1, 60.0), Host("n3", "a", 50.0, 1, 40.0)]
    assert place(20.0, 2, "a", every, 4) == ["n2", "n1"]


def test_the_own_zone_comes_first_while_the_lease_fits_there() -> None:
    every = [Host("n1", "a", 100.0, 1, 50.0), Host("n2", "b", 100.0)]
    assert place(40.0, 1, "a", every, 4) == ["n1"]
    assert place(60.0, 1, "a", every, 4) == ["n2"]


def test_a_node_without_a_lease_to_give_is_left_out() -> None:
    every = [Host("n1", "a", 100.0, 4, 0.0), Host("n2", "a", 100.0, 3, 90.0), Host("n3", "a", 0.0)]
    assert place(40.0, 3, "a", every, 4) == ["n2"]
    assert place(40.0, 3, "a", every, 4, without=("n2",)) == []


def test_leases_of_a_lost_node_are_placed_anew_and_nothing_else_moves() -> None:
    transfers = {
        "t1": Placed(40.0, "a", ("n1",)),
        "t2": Placed(60.0, "a", ("n1", "n2")),
        "t3": Placed(10.0, "a", ("n3",)),
    }
    every = [Host("n1", "a", 100.0, 2, 70.0), Host("n2", "a", 100.0, 1, 30.0), Host("n3", "a", 100.0, 1, 10.0)]
    assert placed_anew("n1", transfers, every, 2) == {"t1": "n3", "t2": None}
    assert placed_anew("n1", transfers, every, 4) == {"t1": "n3", "t2": "n3"}
    assert placed_anew("n9", transfers, every, 4) == {}


def test_who_has_more_nodes_than_its_share_gives_the_fullest_back() -> None:
    every = [Host("n1", "a", 100.0, 2, 90.0), Host("n2", "a", 50.0, 1, 48.0), Host("n3", "a", 100.0)]
    transfers = {"t1": Placed(40.0, "a", ("n1", "n2", "n3")), "t2": Placed(10.0, "a", ("n1",))}
    assert given_back({"t1": 2, "t2": 0}, transfers, every) == {"t1": "n2"}


def test_whatever_is_drawn_no_node_has_more_leases_than_it_may() -> None:
    random = Random(44)
    for _ in range(300):
        every = {
            f"n{number}": Host(f"n{number}", random.choice("ab"), random.uniform(20, 200))
            for number in range(random.randrange(1, 8))
        }
        count = random.randrange(1, 4 * len(every) + 1)
        share = sum(host.capacity for host in every.values()) / count
        for _ in range(count):
            nodes = width(share, count, every.values(), 4, share * count)
            chosen = place(share, nodes, "a", every.values(), 4)
            assert len(set(chosen)) == len(chosen) <= nodes
            assert chosen, "each transfer has one lease"
            for node in chosen:
                every[node] = every[node].loaded(share / nodes)
        assert all(host.leases <= 4 for host in every.values())
