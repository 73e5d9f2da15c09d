"""At which moments relays are killed."""

from itertools import pairwise

import pytest

from bench.fleet.moments import LAST_SHARE, Moment, changes_of, moments

FIFTY = moments(50, relays=4)


def test_every_change_of_state_and_then_evenly_over_the_chunks() -> None:
    assert len(FIFTY) == len(set(FIFTY)) == 50
    assert [moment.changes for moment in FIFTY[:12]] == list(range(1, 13))
    shares = [moment.share for moment in FIFTY[12:] if moment.share is not None]
    assert len(shares) == 38
    assert 0 < shares[0] < 0.03
    assert shares[-1] == pytest.approx(LAST_SHARE)
    assert {round(later - sooner, 6) for sooner, later in pairwise(shares)} == {round(LAST_SHARE / 38, 6)}


def test_every_relay_has_its_turn() -> None:
    assert {moment.victim for moment in FIFTY[12:]} == {0, 1, 2, 3}


def test_few_moments_have_both_kinds() -> None:
    few = moments(5, relays=4)
    assert [moment.changes for moment in few] == [12, None, None, None, None]


def test_a_relay_that_is_gone_has_reached_every_state() -> None:
    assert changes_of([{"state": state} for state in ("SPAWNED", "READY", "JOINED", "LOST")]) == 1 + 2 + 3 + 3


def test_a_moment_says_what_it_is() -> None:
    assert str(Moment(0, changes=7)) == "change 7"
    assert str(Moment(0, share=0.5)) == "50% of the chunks"
