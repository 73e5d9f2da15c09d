"""Leases' rates: no node is overfilled, shares are reached where that can be, and nothing is left that is wanted."""

from math import fsum
from random import Random

import pytest

from lambdas.core.pool.spread import carried, spread

NODES = {"n1": 100.0, "n2": 100.0, "n3": 50.0}


def of_transfer(rates: dict[tuple[str, str], float], transfer: str) -> float:
    return fsum(rate for (name, _), rate in rates.items() if name == transfer)


def of_node(rates: dict[tuple[str, str], float], node: str) -> float:
    return fsum(rate for (_, name), rate in rates.items() if name == node)


def test_a_share_is_divided_as_its_nodes_can_carry() -> None:
    rates = spread({"a": 100.0}, {"a": 100.0}, {"a": ("n1", "n3")}, NODES)
    assert rates == pytest.approx({("a", "n1"): 200 / 3, ("a", "n3"): 100 / 3})


def test_whoever_has_one_node_gets_it_and_the_others_go_around() -> None:
    shares = {"a": 100.0, "b": 100.0}
    rates = spread(shares, shares, {"a": ("n1",), "b": ("n1", "n2")}, {"n1": 100.0, "n2": 100.0})
    assert of_transfer(rates, "a") == pytest.approx(100.0, rel=0.01)
    assert of_transfer(rates, "b") == pytest.approx(100.0, rel=0.01)
    assert of_node(rates, "n1") <= 100.0 + 1e-9


def test_what_a_transfers_nodes_cannot_carry_is_used_by_others_on_the_rest() -> None:
    rates = spread({"a": 80.0, "b": 20.0}, {"a": 80.0, "b": 100.0}, {"a": ("n3",), "b": ("n1",)}, NODES)
    assert rates == pytest.approx({("a", "n3"): 50.0, ("b", "n1"): 100.0})


def test_nobody_has_more_than_they_can_use() -> None:
    rates = spread({"a": 10.0}, {"a": 10.0}, {"a": ("n1", "n2")}, NODES)
    assert of_transfer(rates, "a") == pytest.approx(10.0)
    assert spread({"a": 10.0}, {"a": 10.0}, {"a": ()}, NODES) == {}
    assert spread({"a": 0.0}, {"a": 0.0}, {"a": ("n1",)}, NODES) == {("a", "n1"): 0.0}


def test_what_nobody_asks_for_is_given_to_all_alike() -> None:
    shares = {"a": 2.0, "b": 1.0, "c": 3.0}
    tops = {"a": 100.0, "b": 100.0, "c": 4.0}
    rates = spread(shares, tops, dict.fromkeys(shares, ("n1",)), NODES)
    # 94 are left: c lacks 1, and the others have half of 93 each.
    assert rates == pytest.approx({("a", "n1"): 48.5, ("b", "n1"): 47.5, ("c", "n1"): 4.0})


def test_a_node_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError):
        carried(("n1", "n9"), NODES)
    with pytest.raises(ValueError, match=r"capacities\.n1: -1"):
        spread({}, {}, {}, {"n1": -1.0})


def test_of_drawn_pools_no_node_is_overfilled_and_none_is_idle_while_a_lease_on_it_lacks_some() -> None:
    random = Random(44)
    for _ in range(1000):
        nodes = {
            f"n{number}": random.choice([100.0, random.uniform(10, 200)]) for number in range(random.randrange(1, 7))
        }
        count = random.randrange(1, 12)
        nodes_of = {
            f"t{number}": tuple(random.sample(sorted(nodes), random.randrange(1, len(nodes) + 1)))
            for number in range(count)
        }
        tops = {name: random.choice([1e6, random.uniform(1, 300)]) for name in nodes_of}
        equal = sum(nodes.values()) / count
        shares = {name: min(top, equal) for name, top in tops.items()}
        rates = spread(shares, tops, nodes_of, nodes)
        for node, capacity in nodes.items():
            used = of_node(rates, node)
            assert used <= capacity * (1 + 1e-9)
            lacking = [
                name for name, own in nodes_of.items() if node in own and of_transfer(rates, name) < tops[name] - 1e-6
            ]
            assert used >= capacity * (1 - 1e-9) or not lacking
        for name, top in tops.items():
            assert of_transfer(rates, name) <= top * (1 + 1e-9)


def test_shares_that_some_matrix_has_are_reached_within_a_percent() -> None:
    """Leases' rates are drawn so that they fill every node; what a transfer has of them is its share."""
    random = Random(45)
    worst = 1.0
    for _ in range(300):
        nodes = {
            f"n{number}": random.choice([100.0, random.uniform(10, 200)]) for number in range(random.randrange(2, 7))
        }
        nodes_of = {
            f"t{number}": tuple(random.sample(sorted(nodes), random.randrange(1, len(nodes) + 1)))
            for number in range(random.randrange(2, 20))
        }
        shares = dict.fromkeys(nodes_of, 0.0)
        for node, capacity in nodes.items():
            on_it = [name for name, own in nodes_of.items() if node in own]
            parts = [random.choice([0.0, random.random() ** 3, 1.0]) for _ in on_it]
            for name, part in zip(on_it, parts, strict=True):
                shares[name] += capacity * part / (sum(parts) or 1.0)
        rates = spread(shares, shares, nodes_of, nodes)
        worst = min([worst, *(of_transfer(rates, name) / share for name, share in shares.items() if share > 1e-3)])
    assert worst >= 0.99
