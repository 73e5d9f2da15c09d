from itertools import pairwise

from hypothesis import given

from bench.routes.draws import Question
from bench.routes.optimum import every_route
from lambdas.core.routes.widest_path import widest
from tests.lambdas.core.routes.builders import network, questions


def test_slowest_link_decides() -> None:
    rates = {"ab": 10, "ac": 30, "cb": 12, "ad": 20, "db": 15}
    assert widest(network(rates), "a", "b") == ("a", "d", "b")


def test_fewer_stages_win_between_paths_of_one_width() -> None:
    assert widest(network({"ab": 10, "ac": 30, "cb": 10}), "a", "b") == ("a", "b")


def test_cheaper_of_two_equal_paths_wins_though_a_dearer_way_to_its_middle_is_wider() -> None:
    rates = {"ac": 30, "ad": 20, "ce": 30, "de": 20, "eb": 10, "ab": 5}
    prices = {"ac": 0.09, "ce": 0.09}
    assert widest(network(rates, prices), "a", "b") == ("a", "d", "e", "b")


def test_no_path_has_more_than_four_stages() -> None:
    rates = {"ac": 30, "cd": 30, "de": 30, "eb": 30, "ab": 1}
    assert widest(network(rates), "a", "b") == ("a", "b")
    assert widest(network({**rates, "db": 2}), "a", "b") == ("a", "c", "d", "b")
    assert widest(network({**rates, "db": 2}), "a", "b", most_stages=3) == ("a", "b")


def test_banned_and_empty_links_are_not_used() -> None:
    rates = {"ab": 10, "ac": 30, "cb": 12}
    assert widest(network(rates), "a", "b", {("c", "b")}) == ("a", "b")
    assert widest(network({**rates, "cb": 0}), "a", "b", {("a", "b")}) is None
    assert widest(network(rates), "b", "a") is None
    assert widest(network(rates), "a", "a") is None


@given(questions())
def test_no_other_path_is_wider_or_as_wide_and_better(asked: Question) -> None:
    known = asked.network

    def order(path: tuple[str, ...]) -> tuple[float, int, float]:
        links = [known[pair] for pair in pairwise(path)]
        return (-min(link.width for link in links), len(path), round(sum(link.usd_per_gb for link in links), 9))

    found = widest(known, asked.source, asked.destination)
    every = list(every_route(known, asked.source, asked.destination))
    assert (found is None) == (not every)
    if found:
        assert order(found) == min(map(order, every))
