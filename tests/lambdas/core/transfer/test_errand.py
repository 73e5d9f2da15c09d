from lambdas.core.transfer.errand import MEASURE, MOVE
from tests.lambdas.builders import transfer


def test_profile_of_the_request_says_what_an_execution_is_for() -> None:
    assert transfer().errand is MOVE
    assert transfer(profile="measure").errand is MEASURE


def test_who_measures_has_no_receiver_and_nothing_that_goes_on_without_relays() -> None:
    assert [seat.role for seat in transfer().seats] == ["receiver", "sender"]
    assert [seat.role for seat in transfer(profile="measure").seats] == ["sender"]
    assert not MEASURE.goes_on_without_relays
