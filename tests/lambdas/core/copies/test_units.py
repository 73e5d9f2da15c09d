from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.copies.units import LARGEST_UNIT, MOST_UNITS, Packing, requests_per_unit, units_of

# Of one execution, and what one unit takes of them: two of the Map, two of the choice, five of the task.
MOST_EVENTS, EVENTS_OF_UNIT, EVENTS_OF_ROUND = 25_000, 9, 20


@given(st.integers(min_value=1, max_value=9), st.lists(st.integers(min_value=1, max_value=2_000), max_size=300))
def test_units_have_objects_in_order_and_none_is_larger_than_it_may_be(number: int, requests: list[int]) -> None:
    packing, units = Packing(number), dict[int, list[int]]()
    for one in requests:
        begins = packing.is_next(one)
        assert begins == (packing.unit not in units and packing.unit > 0)
        units.setdefault(packing.unit, []).append(one)
        if packing.full:
            break
    assert list(units) == list(range(packing.count))
    assert packing.count <= units_of(number) or not packing.full
    assert all(len(unit) == 1 or sum(unit) <= requests_per_unit(number) for unit in units.values())


def test_the_first_round_is_a_page_of_a_listing() -> None:
    assert requests_per_unit(1) * units_of(1) == 1_000


def test_a_hundred_million_objects_fit_into_one_history() -> None:
    left, number, units = 100_000_000, 0, 0
    while left > 0:
        number += 1
        left -= requests_per_unit(number) * units_of(number)
        units += units_of(number)
    assert units * EVENTS_OF_UNIT + number * EVENTS_OF_ROUND < MOST_EVENTS
    assert (number, requests_per_unit(number), units_of(number)) == (70, LARGEST_UNIT, MOST_UNITS)
