from lambdas.core.record.pause import MOST_SPANS, Pause, PauseSpan


def test_pauses_add_up_and_what_was_given_back_is_owed_once() -> None:
    first = Pause().begun(100.0)
    assert (first.paused, first.owed, first.version) == (True, False, 1)
    gone_on = first.ended(130.0)
    assert (gone_on.paused, gone_on.owed, gone_on.seconds, gone_on.at) == (False, True, 30.0, 130.0)
    assert gone_on.settled() == gone_on.model_copy(update={"owed": False, "version": 3})
    again = gone_on.begun(200.0)
    assert (again.paused, again.owed, again.seconds) == (True, False, 30.0)
    assert again.ended(190.0).seconds == 30.0, "a clock that goes back takes nothing away"


def test_each_pause_is_kept_with_its_beginning_and_its_end() -> None:
    twice = Pause().begun(100.0).ended(130.0).settled().begun(200.0)
    assert twice.spans == [PauseSpan(since=100.0, until=130.0), PauseSpan(since=200.0)]
    assert twice.ended(260.0).spans[-1] == PauseSpan(since=200.0, until=260.0)
    assert twice.ended(190.0).spans[-1] == PauseSpan(since=200.0, until=200.0)


def test_of_many_pauses_the_last_ones_are_kept() -> None:
    pause = Pause()
    for number in range(MOST_SPANS + 3):
        pause = pause.begun(10.0 * number).ended(10.0 * number + 5)
    assert len(pause.spans) == MOST_SPANS
    assert pause.spans[-1].since == 10.0 * (MOST_SPANS + 2)
    assert pause.seconds == 5.0 * (MOST_SPANS + 3)
