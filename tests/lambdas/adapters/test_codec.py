import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.adapters.codec import decode_item, encode, encode_item

numbers = st.one_of(st.integers(-(10**30), 10**30), st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100), st.just(0.0))
values = st.recursive(
    st.one_of(st.booleans(), st.text(), numbers),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1), values))
def test_items_come_back(item: dict[str, object]) -> None:
    assert decode_item(encode_item(item)) == item


def test_absent_values_are_left_out_and_truth_is_no_number() -> None:
    assert encode_item({"a": None, "b": True}) == {"b": {"BOOL": True}}
    assert encode(None) == {"NULL": True}


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot store set"):
        encode({1, 2})
