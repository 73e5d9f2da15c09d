"""Figures 7 to 9: the service beside relays of a user's own, with several users, and with relays that compute.

The service has a pool at both sides. Where the paper's has one at the source alone (asymmetric), a single wide node at
the other side stands in for none: it is no limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from time import monotonic, sleep

from bench.pool.real.routes import own_relays
from bench.pool.real.series import keep
from bench.pool.real.site import NODE_TYPE, NODES, USERS, Layout, Site, User, site
from bench.pool.real.watching import Part, Watched, data_mb_s, source_of, watched
from bench.results import Result, say
from local.instances.process import marked
from tests.e2e.account import HOME

SETTLED_SECONDS, WATCHED_SECONDS = 10.0, 30.0
# A user alone has three times as much by relays of its own as past them: the paper's gain a, put in.
DIRECT_MB_S = 10.0
# So that no user fills the nodes alone, as in the paper: with five of them each has four fifths. Put in.
END_MB_S = 5.0
LEAST_OF_ALONE = 0.75
CPU = Path("/sys/fs/cgroup/cpu")
PERIOD_MICROSECONDS = 1_000_000
# Of the processor time that a relay takes by itself at its full rate.
LEFT = (0.8, 0.5)


def layout(kind: str, **more: float) -> Layout:
    """Of the paper's two services."""
    changes = {"other_nodes": NODES, "other_type": NODE_TYPE} if kind == "symmetric" else {}
    return Layout(**changes, **more)  # type: ignore[arg-type]


def figure_seven() -> list[Result]:
    """All four ways, alone; the direct path carries beside the relays, as it does for everybody."""
    rates: dict[str, tuple[float, float]] = {}
    for kind in ("asymmetric", "symmetric"):
        with site(layout(kind, direct_mb_s=DIRECT_MB_S)) as place:
            user = place.users(1)[0]
            rates[kind] = _rate(place, Part(user, f"seven-{kind}"))
            if kind == "asymmetric":
                by_own = Part(user, "seven-own", relays=own_relays(NODES), count=NODES + 1)
                rates["own relays"] = _rate(place, by_own)
                rates["end to end"] = _rate(place, Part(user, "seven-direct", relays={"pairs": 0}, count=0))
    keep("7", rates)
    own, ends = rates["own relays"][0], rates["end to end"][0]
    told = ", ".join(f"{way} {rate:.1f} ± {spread:.1f}" for way, (rate, spread) in rates.items())
    return [
        Result(
            "Figure 7: asymmetric over own relays",
            rates["asymmetric"][0] / own,
            "",
            0.84,
            "higher",
            f"printed: 0.84; {told} MB/s",
        ),
        Result("Figure 7: symmetric over own relays", rates["symmetric"][0] / own, "", 0.84, "higher", "printed: 1"),
        Result(
            "Figure 7: own relays over end to end",
            own / ends,
            "×",
            note=f"put in: {(DIRECT_MB_S + 20) / DIRECT_MB_S:g}",
        ),
    ]


def _rate(place: Site, part: Part) -> tuple[float, float]:
    source = source_of(place, 2.5 * (SETTLED_SECONDS + WATCHED_SECONDS))
    seen = watched(place, [part], source, SETTLED_SECONDS, WATCHED_SECONDS, closed=False)
    rate = seen.rate(part.name)
    say(f"  {part.name}: {rate:.2f} MB/s")
    return rate, rate * seen.variation(part.name)


def figure_eight() -> list[Result]:
    """1 to 5 users whose ends carry no more than a quarter of the pool."""
    found: dict[str, dict[str, list[float]]] = {}
    results = []
    for kind in ("asymmetric", "symmetric"):
        with site(layout(kind, end_mb_s=END_MB_S)) as place:
            source = source_of(place, SETTLED_SECONDS + WATCHED_SECONDS)
            rates = {}
            for count in range(1, USERS + 1, 2):
                parts = [Part(user, f"eight-{kind[:4]}-{count}-{user.name}") for user in place.users(count)]
                rates[str(count)] = watched(place, parts, source, SETTLED_SECONDS, WATCHED_SECONDS).rates()
                say(f"  {kind}, {count} users: {', '.join(f'{rate:.2f}' for rate in rates[str(count)])} MB/s")
            found[kind] = rates
            # What arrives at the ends has less than 1 % of headers more than what the nodes carry of data.
            least, alone, fair = min(rates[str(USERS)]), rates["1"][0], data_mb_s(place) / USERS
            note = f"alone {alone:.2f}, fifth of five {least:.2f} MB/s, a fair share {fair:.2f}; printed: 0.75 at least"
            bar = min(LEAST_OF_ALONE, 0.95 * fair / alone)
            results.append(Result(f"Figure 8: {kind}, five users over one", least / alone, "", bar, "higher", note))
    keep("8", found)
    return results


def figure_nine() -> list[Result]:
    """Four relays of a user's own that compute as well, beside the service with five users."""
    found: dict[str, float] = {}
    with site(Layout(direct_mb_s=0.5)) as place:
        user = place.users(1)[0]
        found["idle"], need = _computing(place, user, None)
        for left in LEFT:
            found[f"{left:g} of the processor time"] = _computing(place, user, left * need)[0]
        parts = [Part(one, f"nine-{one.name}") for one in place.users(USERS)]
        source = source_of(place, SETTLED_SECONDS + WATCHED_SECONDS)
        found["service, each of five users"] = fmean(
            watched(place, parts, source, SETTLED_SECONDS, WATCHED_SECONDS).rates()
        )
    keep("9", found)
    lost = {name: 1 - rate / found["idle"] for name, rate in found.items() if "processor" in name}
    told = "; ".join(f"{name} {rate:.2f}" for name, rate in found.items())
    return [
        Result(
            f"Figure 9: relays that have {name}",
            part,
            "lost",
            note=f"printed: 0.2 to 0.5; {told} MB/s; quotas are put in",
        )
        for name, part in lost.items()
    ]


def _computing(place: Site, user: User, quota: float | None) -> tuple[float, float]:
    """MB/s with four relays of which each has so many seconds of a processor per second; what they took, on average."""
    name = "nine-idle" if quota is None else f"nine-{round(1e4 * quota)}"
    source = source_of(place, SETTLED_SECONDS + WATCHED_SECONDS)
    part = Part(user, name, relays=own_relays(4), count=5)
    with place.counter([user]) as counter:
        arns = [place.start(user, name, source, **part.more)]
        place.await_joined([name], part.count)
        place.close([user])
        nodes = [str(node["instanceId"]) for node in place.account.nodes(name) if node["region"] == HOME]
        with _held(nodes, quota) as folders:
            sleep(SETTLED_SECONDS)
            begin, before = monotonic(), _used(folders)
            sleep(WATCHED_SECONDS)
            end, after = monotonic(), _used(folders)
    place.close([user], closed=False)
    place.cancel(arns)
    rate = Watched({name: counter.samples[user.name]}, begin, end).rate(name)
    used = (after - before) / (end - begin) / len(nodes)
    say(f"  {name}: {rate:.2f} MB/s, {1e3 * used:.2f} ms of a processor per second and relay")
    return rate, used


@contextmanager
def _held(nodes: list[str], quota: float | None) -> Iterator[list[Path]]:
    """All processes of each machine in a control group of its own."""
    folders = [CPU / f"cpt-{node}" for node in nodes]
    try:
        for node, folder in zip(nodes, folders, strict=True):
            folder.mkdir()
            if quota is not None:
                (folder / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
                (folder / "cpu.cfs_quota_us").write_text(str(max(round(quota * PERIOD_MICROSECONDS), 1000)))
            accounts = CPU.parent / "cpuacct" / folder.name
            accounts.mkdir(exist_ok=True)
            for pid in marked(node):
                for group in (folder, accounts):
                    (group / "cgroup.procs").write_text(str(pid))
        yield [CPU.parent / "cpuacct" / folder.name for folder in folders]
    finally:
        for folder in folders:
            for group in (folder, CPU.parent / "cpuacct" / folder.name):
                for moved in (group / "cgroup.procs").read_text().split():
                    (group.parent / "cgroup.procs").write_text(moved)
                group.rmdir()


def _used(folders: list[Path]) -> float:
    """Seconds of a processor."""
    return sum(int((folder / "cpuacct.usage").read_text()) for folder in folders) / 1e9
