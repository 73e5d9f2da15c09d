from lambdas.core.estimate.pair_route import PairRoute


def test_pairs_have_one_relay_at_each_side() -> None:
    assert PairRoute().relays(3) == [3, 3]


def test_sides_that_were_asked_for_are_those_of_just_as_many_pairs_as_the_smaller_one() -> None:
    asked = PairRoute(asked=[5, 3])
    assert [asked.relays(pairs) for pairs in (2, 3, 4)] == [[2, 2], [5, 3], [4, 4]]


def test_lent_machines_take_the_first_slots_of_their_side() -> None:
    assert PairRoute(lent=[2, 0]).lent_of([1, 1]) == [1, 0]
    assert PairRoute(lent=[2, 1]).lent_of([3, 3]) == [2, 1]


def test_a_side_without_relays_has_no_lent_ones() -> None:
    assert PairRoute().lent_of([3, 3]) is None
    assert PairRoute(lent=[1, 0]).lent_of([0, 3]) is None
