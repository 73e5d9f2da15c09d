"""Objects that come are collected in windows, each of which starts one transfer of what it has (docs/design/066)."""

from itertools import islice
from typing import Literal

from lambdas.adapters.world import World
from lambdas.core.ends.key_list import list_key, read, written
from lambdas.core.errors import AskPerson, InvalidRequest
from lambdas.core.intake.arrivals import (
    MOST_ATTEMPTS,
    MOST_LISTED,
    SOON_SECONDS,
    Arrival,
    CollectedStart,
    Window,
    newest,
)
from lambdas.operations.intake.acceptance import accept

Collected = Literal["collected", "known", "ours"]


def collect(world: World, start: CollectedStart, arrival: Arrival) -> Collected:
    """Keep the arrival and see to a window that will list it; an event that comes twice, or late, does nothing."""
    if arrival.is_ours:
        return "ours"
    new = world.arrivals.collect(start.name, arrival, world.clock.now())
    # Of one that came before, whoever wrote it may not have come to its window.
    if new or world.arrivals.waits(start.name, arrival):
        _see_to_window(world, start)
    return "collected" if new else "known"


def close(world: World, start: str, number: int) -> Window | None:
    """The window's time is over: list what waits, start it, take it. Goes on where another ended; as it is then."""
    window = world.arrivals.window(start)
    while window is not None and window.number == number and window.state != "IDLE":
        following = _next(world, window)
        if following is None:
            return window
        if not world.arrivals.write(following):
            following = world.arrivals.window(start)
        window = following
    if window is not None and window.state == "OPEN":
        _schedule(world, window)
    return window


def tell_overdue(world: World) -> list[str]:
    """Windows that nobody goes on with are told once more; their starts."""
    now = world.clock.now()
    overdue = [window for window in world.arrivals.windows() if window.is_overdue(now)]
    for window in overdue:
        _tell(world, window)
    return [window.start for window in overdue]


def _see_to_window(world: World, start: CollectedStart) -> None:
    while True:
        window, now = world.arrivals.window(start.name), world.clock.now()
        if window is None or window.state == "IDLE":
            window = Window.opened(start, window, now)
        elif window.state != "OPEN":
            if window.again:
                return
            window = window.changed(now, again=True, touched_at=window.touched_at)
        elif (window.template, window.window_seconds) != (start.template, start.window_seconds):
            # A deployment has changed it.
            window = window.changed(now, template=start.template, window_seconds=start.window_seconds)
        elif window.scheduled:
            return
        else:
            _schedule(world, window)
            return
        if world.arrivals.write(window) and window.state != "OPEN":
            return


def _schedule(world: World, window: Window) -> None:
    """Whoever reads that it is not scheduled does it too: the schedule's name is the window's."""
    now = world.clock.now()
    if window.due_at < now + SOON_SECONDS:
        _tell(world, window)
        return
    world.schedules.once(window.schedule, window.due_at, {"start": window.start, "number": window.number})
    world.arrivals.write(window.changed(now, scheduled=True))


def _tell(world: World, window: Window) -> None:
    world.events.put("Window Due", {"start": window.start, "number": window.number})


def _next(world: World, window: Window) -> Window | None:
    """What it becomes by its next step; None where that failed, and is tried again in a minute."""
    now = world.clock.now()
    match window.state:
        case "OPEN":
            return window.changed(now, state="CLOSING")
        case "CLOSING":
            return _listed(world, window)
        case "LISTED":
            return _started(world, window)
        case _:
            _take(world, window)
            return window.finished(world.clock.now())


def _listed(world: World, window: Window) -> Window:
    waiting = list(islice(world.arrivals.waiting(window.start), MOST_LISTED + 1))
    full = len(waiting) > MOST_LISTED
    found = newest(waiting[:MOST_LISTED])
    if not found:
        return window.finished(world.clock.now())
    body = written(arrival.entry for arrival in found)
    key = list_key(body)
    world.objects.put(key, body)
    return window.listed(key, len(found), world.clock.now(), full=full)


def _started(world: World, window: Window) -> Window | None:
    """Start its execution. What is refused, or fails, is tried again each minute, and then named."""
    if window.was_added and world.added_starts.get().of_window(window.start) is None:
        _name(world, window, InvalidRequest.__name__, ["its start was removed before a transfer of them began"])
        return window.changed(world.clock.now(), state="SETTLED")
    request = window.filled
    try:
        accept(request, world)
        world.executions.start(str(window.execution), request)
    except Exception as error:
        tried = window.changed(world.clock.now(), attempts=window.attempts + 1)
        if tried.attempts < MOST_ATTEMPTS:
            world.arrivals.write(tried)
            if isinstance(error, AskPerson):
                return None
            raise
        problems = error.problems if isinstance(error, InvalidRequest) else [str(error)]
        _name(world, window, type(error).__name__, problems, f" after {MOST_ATTEMPTS} attempts")
    return window.changed(world.clock.now(), state="SETTLED")


def _name(world: World, window: Window, error: str, problems: list[str], after: str = "") -> None:
    place = f"s3://{world.env.control_bucket}/{window.list_key}"
    what = f"{window.keys} keys were not moved{after}; their list: {place}"
    world.events.put(
        "Request Refused", {"origin": window.origin, "error": error, "cause": "\n".join([*problems, what])}
    )


def _take(world: World, window: Window) -> None:
    """What the list has waits no more, nor does what it was newer than; what came since stays."""
    listed = {entry.key: str(entry.sequencer) for entry in read(world.objects.lines(str(window.list_key)))}
    world.arrivals.take(
        window.start,
        (
            arrival
            for arrival in world.arrivals.waiting(window.start)
            if arrival.key in listed and arrival.sequencer <= listed[arrival.key]
        ),
    )
