"""How the pool is shared: equal users, weights, guarantees, nodes that differ, an end that is slow."""

from collections.abc import Callable

from bench.pool.real.site import SLOW_MB_S, USERS, Layout, Site, rest, site
from bench.pool.real.watching import (
    REFRESH_SECONDS,
    SETTLED_SECONDS,
    WATCHED_SECONDS,
    WINDOW_SECONDS,
    Part,
    Watched,
    data_mb_s,
    jain,
    source_of,
    watched,
)
from bench.results import Result, say

LEAST_OF_CAPACITY, LEAST_JAIN, MOST_OFF = 0.95, 0.98, 0.10
WEIGHTS = {"one": 1, "two": 2, "four": 4}
# Of 20 MB/s: far above the third that its holder would have by weight.
GUARANTEE_MB_S = 12.0
UNLIKE = (1.0, 0.9, 0.7, 0.5, 0.4)


def equal() -> list[Result]:
    """1 to 5 users who are alike."""
    with site(Layout()) as place:
        source = source_of(place, 1.3 * (SETTLED_SECONDS + WATCHED_SECONDS))
        found = []
        for count in range(1, USERS + 1):
            parts = [Part(user, f"equal-{count}-{user.name}") for user in place.users(count)]
            seen = watched(place, parts, source, SETTLED_SECONDS, WATCHED_SECONDS)
            _tell(f"{count} users", seen)
            whose = f"{count} equal users" if count > 1 else "a lone user"
            found += _whole(place, whose, seen)
            if count > 1:
                found.append(
                    Result(f"{whose}: Jain's index", jain(seen.rates()), "", LEAST_JAIN, "higher", _rates(seen))
                )
    return found


def weights() -> list[Result]:
    """Tenants of weights 1, 2 and 4."""
    with site(Layout(tenants={name: {"weight": weight} for name, weight in WEIGHTS.items()})) as place:
        source = source_of(place, SETTLED_SECONDS + WATCHED_SECONDS)
        users = place.users(len(WEIGHTS))
        parts = [Part(user, f"{name}-weighs", name) for user, name in zip(users, WEIGHTS, strict=True)]
        seen = watched(place, parts, source, SETTLED_SECONDS, WATCHED_SECONDS)
        _tell("weights 1, 2, 4", seen)
        due = [weight / sum(WEIGHTS.values()) for weight in WEIGHTS.values()]
        off = max(abs(rate / sum(seen.rates()) / part - 1) for rate, part in zip(seen.rates(), due, strict=True))
        whose = "weights 1 : 2 : 4"
        return [Result(f"{whose}: off by, most", off, "", MOST_OFF, note=_rates(seen)), *_whole(place, whose, seen)]


def guarantee() -> list[Result]:
    """A tenant who is guaranteed more than his part comes when two others have everything."""
    tenants = {"held": {"guaranteeMBps": GUARANTEE_MB_S}, "plain": {}}
    with site(Layout(tenants=tenants)) as place:
        source = source_of(place, SETTLED_SECONDS + REFRESH_SECONDS + 30)
        *others, late = place.users(3)
        parts = [Part(user, f"plain-{user.name}", "plain") for user in others]
        last = Part(late, "held-late", "held")
        with place.counter([*others, late]) as counter:
            arns = [place.start(part.user, part.name, source, part.tenant) for part in parts]
            rest(place.await_joined([part.name for part in parts]) + SETTLED_SECONDS)
            place.close(others)
            arns.append(place.start(last.user, last.name, source, last.tenant))
            begin = place.await_joined([last.name])
            place.close([late])
            rest(begin + REFRESH_SECONDS + WINDOW_SECONDS)
        place.close([*others, late], closed=False)
        place.cancel(arns)
        samples = {part.name: counter.samples[part.user.name] for part in [*parts, last]}
        seen = Watched(samples, begin, begin + REFRESH_SECONDS + WINDOW_SECONDS)
        # Told in what a relay sends; the kernel counts what arrives, with headers of less than 1 %.
        met = _until(
            seen, lambda at: seen.rate(last.name, at, at + WINDOW_SECONDS) >= LEAST_OF_CAPACITY * GUARANTEE_MB_S
        )
        later = seen.rate(last.name, seen.end - 2 * WINDOW_SECONDS)
        _tell("guarantee", seen)
        return [
            Result(
                f"a guarantee of {GUARANTEE_MB_S:g} MB/s is met after", met, "s", REFRESH_SECONDS, note=_rates(seen)
            ),
            Result("and later", later / GUARANTEE_MB_S, "of it", LEAST_OF_CAPACITY, "higher", f"{later:.2f} MB/s"),
        ]


def unlike() -> list[Result]:
    """Three users, on nodes of which no two are alike, as nobody was told."""
    with site(Layout(factors=UNLIKE)) as place:
        source = source_of(place, SETTLED_SECONDS + WATCHED_SECONDS)
        parts = [Part(user, f"unlike-{user.name}") for user in place.users(3)]
        seen = watched(place, parts, source, SETTLED_SECONDS, WATCHED_SECONDS)
        _tell("unlike nodes", seen)
        whose = "3 users, nodes unlike"
        index = Result(f"{whose}: Jain's index", jain(seen.rates()), "", LEAST_JAIN, "higher", _rates(seen))
        return [index, *_whole(place, whose, seen)]


def slow_end() -> list[Result]:
    """Of three users one has a slow destination; the others have what he leaves."""
    with site(Layout()) as place:
        source = source_of(place, SETTLED_SECONDS + 2 * REFRESH_SECONDS)
        parts = [Part(user, f"slow-{user.name}") for user in place.users(3, slow=True)]
        seen = watched(place, parts, source, 0.0, 2 * REFRESH_SECONDS)
        _tell("a slow end", seen)
        capacity = LEAST_OF_CAPACITY * data_mb_s(place)
        whole = lambda at: sum(seen.rate(name, at, at + WINDOW_SECONDS) for name in seen.samples) >= capacity  # noqa: E731
        later = Watched(seen.samples, seen.begin + REFRESH_SECONDS, seen.end)
        whose = f"one of 3 users takes {SLOW_MB_S:g} MB/s"
        fast = [later.rate(part.name) for part in parts[:-1]]
        return [
            Result(
                f"{whose}: others have the rest after", _until(seen, whole), "s", REFRESH_SECONDS, note=_rates(seen)
            ),
            Result(f"{whose}: Jain's index of the others", jain(fast), "", LEAST_JAIN, "higher", _rates(later)),
            *_whole(place, f"{whose}, later", later),
        ]


def _whole(place: Site, whose: str, seen: Watched) -> list[Result]:
    """What all have together, in all and in the window that has least."""
    capacity = data_mb_s(place)
    note = f"of {place.layout.capacity:g} MB/s, of which {capacity:.2f} can be data"
    together = sum(seen.rates()) / capacity
    return [
        Result(f"{whose}: sum of rates", together, "of capacity", LEAST_OF_CAPACITY, "higher", note),
        Result(
            f"{whose}: least in {WINDOW_SECONDS:g} s",
            seen.least_sum() / capacity,
            "of capacity",
            LEAST_OF_CAPACITY,
            "higher",
        ),
    ]


def _until(seen: Watched, holds: Callable[[float], bool]) -> float:
    """Seconds from the beginning until a window holds; all of them if none does."""
    at = seen.begin
    while at + WINDOW_SECONDS <= seen.end:
        if holds(at):
            return at - seen.begin
        at += 1.0
    return seen.end - seen.begin


def _rates(seen: Watched) -> str:
    return ", ".join(f"{name} {rate:.2f}" for name, rate in zip(seen.samples, seen.rates(), strict=True)) + " MB/s"


def _tell(case: str, seen: Watched) -> None:
    say(f"  {case}: {_rates(seen)}")


CASES: dict[str, Callable[[], list[Result]]] = {
    "equal": equal,
    "weights": weights,
    "guarantee": guarantee,
    "unlike": unlike,
    "slow-end": slow_end,
}
