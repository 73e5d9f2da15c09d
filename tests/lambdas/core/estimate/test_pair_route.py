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


def test_beside_a_bucket_a_pair_is_one_relay() -> None:
    route = PairRoute(regions=["us-west-2"])
    assert (route.sides, route.relays(3), route.lent_of([3])) == (1, [3], None)
    assert [route.words(1), route.words(3), route.are(1), route.are(2, "takes", "take")] == [
        "1 relay",
        "3 relays",
        "1 relay is",
        "2 relays take",
    ]
    assert PairRoute(regions=["us-west-2", "eu-west-1"]).words(1) == "1 pair"
