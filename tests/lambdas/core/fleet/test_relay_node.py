import pytest

from lambdas.core.fleet import relay_node
from lambdas.core.fleet.relay_node import Measurement, Node
from tests.lambdas.builders import node, paths


def test_ranking_is_by_inter_region_then_by_the_ratio() -> None:
    found = relay_node.rank(
        [Measurement(1, 10, 50), Measurement(2, 20, 20), Measurement(3, 10, 80), Measurement(4, 0, 0)]
    )
    assert [m.slot for m in found] == [2, 3, 1, 4]
    assert relay_node.lower_half(found, 2) == [1, 4]
    assert relay_node.lower_half(found, 9) == []


def test_public_address_that_is_needed_and_absent_is_an_error() -> None:
    with pytest.raises(LookupError):
        paths().outward("10.0.0.1", None)


def test_machine_of_the_user_in_an_item_of_an_earlier_format_is_not_ours() -> None:
    item = {key: value for key, value in node("source", 1).to_document().items() if key != "provider"}
    found = [Node.from_document(item | more) for more in ({}, {"existing": False}, {"existing": True})]
    assert [(one.provider, one.is_ours) for one in found] == [("launched", True), ("launched", True), ("lent", False)]
