"""Figures 4 to 6: relays of a user's own, by their number, by the types of both ends, and how steady the rate is.

Nodes move 4 MB/s out of their region. Nothing else limits, so what ours has in common with the paper is that the ends
do not matter; a bound that all routes share, which the paper found, is put in nowhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from random import Random
from statistics import fmean
from threading import Event, Thread

from bench.pool.real.counting import namespace_of
from bench.pool.real.series import keep
from bench.pool.real.site import INSIDE_MB_S, NODE_MB_S, NODE_TYPE, WIDE_TYPE, Layout, Site, site
from bench.pool.real.watching import DATA_OF_PACKETS, Part, Watched, source_of, watched
from bench.results import Result, say
from local.caps import Caps
from local.instances.netns import command
from local.instances.shaping import change_commands
from tests.e2e.account import HOME

ROUTES = (1, 2, 3, 5)
SETTLED_SECONDS, WATCHED_SECONDS = 8.0, 20.0
SMALL_MB_S, LARGE_MB_S = 25.0, INSIDE_MB_S
# Figure 6: each node's neighbours leave it so much, drawn anew each two seconds.
DRAWN, DRAWN_SECONDS = (0.4, 1.0), 2.0
# Of what the nodes carry.
LEAST = 0.95


def own_relays(count: int) -> dict[str, object]:
    """So many relays of the user's own at the source's side, and one at the other that is no limit."""
    return {
        "pairs": {"source": count, "destination": 1},
        "pool": "none",
        "instanceTypes": {"source": [NODE_TYPE], "destination": [WIDE_TYPE]},
    }


def figure_four_and_six() -> list[Result]:
    """The rate and its variation, by the number of relays."""
    found: dict[str, dict[str, float]] = {"small": {}, "large": {}, "variation": {}}
    for size, end_mb_s in (("small", SMALL_MB_S), ("large", LARGE_MB_S)):
        with site(replace(Layout(nodes=1), end_mb_s=end_mb_s)) as place:
            for count in ROUTES:
                found[size][str(count)] = fmean(_measured(place, f"four-{size}-{count}", count).rates())
    with site(Layout(nodes=1)) as place:
        for count in (min(ROUTES), max(ROUTES)):
            found["variation"][str(count)] = _measured(place, f"six-{count}", count, varied=True).variation(
                f"six-{count}"
            )
    keep("4", {"small": found["small"], "large": found["large"]})
    keep("6", found["variation"])
    due = NODE_MB_S * DATA_OF_PACKETS
    shares = [rate / int(count) / due for size in ("small", "large") for count, rate in found[size].items()]
    apart = max(abs(found["small"][str(count)] / found["large"][str(count)] - 1) for count in ROUTES)
    one, five = (found["variation"][str(count)] for count in (min(ROUTES), max(ROUTES)))
    told = ", ".join(f"{count}: {rate:.2f}" for count, rate in found["large"].items())
    return [
        Result(
            "Figure 4: rate over what the relays carry, least",
            min(shares),
            "",
            LEAST,
            "higher",
            f"{told} MB/s; printed: asymptotic",
        ),
        Result("Figure 4: small and large destination apart, most", apart, "", 0.05, note="printed: similar"),
        Result(
            "Figure 6: variation with 5 routes over that with 1",
            five / one,
            "",
            0.99,
            note=f"{five:.3f}, {one:.3f}; each node's is put in",
        ),
    ]


def figure_five() -> list[Result]:
    """Three relays between small and large ends."""
    found: dict[str, float] = {}
    sizes = {"small": SMALL_MB_S, "large": LARGE_MB_S}
    for sender, receiver in product(sizes, sizes):
        with site(Layout(nodes=1, end_mb_s=sizes[sender], receiver_mb_s=sizes[receiver])) as place:
            name = f"{sender}-{receiver}"
            found[name] = fmean(_measured(place, f"five-{name}", 3).rates())
    keep("5", found)
    apart = max(found.values()) / min(found.values()) - 1
    told = ", ".join(f"{kind} {rate:.2f}" for kind, rate in found.items())
    return [Result("Figure 5: types of ends apart, most", apart, "", 0.05, note=f"{told} MB/s; printed: no gain")]


def _measured(place: Site, name: str, count: int, *, varied: bool = False) -> Watched:
    source = source_of(place, (SETTLED_SECONDS + 2 * WATCHED_SECONDS) * count)
    part = Part(place.users(1)[0], name, relays=own_relays(count), count=count + 1)
    seconds = 2 * WATCHED_SECONDS if varied else WATCHED_SECONDS
    with _neighbours(place, name, active=varied):
        seen = watched(place, [part], source, SETTLED_SECONDS, seconds)
    say(f"  {name}: {seen.rates()[0]:.2f} MB/s")
    return seen


@contextmanager
def _neighbours(place: Site, transfer: str, *, active: bool) -> Iterator[None]:
    """Relays of the home region have less and more by turns, each by itself."""
    done, random = Event(), Random(transfer)

    def vary() -> None:
        while not done.wait(DRAWN_SECONDS):
            for node in place.account.nodes(transfer):
                if node["region"] == HOME and "joinedAt" in node:
                    caps = Caps.of(NODE_MB_S * random.uniform(*DRAWN), INSIDE_MB_S)
                    lines = "".join(f"{' '.join(line)}\n" for line in change_commands(caps, "eth0"))
                    command("tc", "-n", namespace_of(str(node["instanceId"])), "-batch", "-", text=lines)

    thread = Thread(target=vary, name="neighbours", daemon=True)
    if active:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if active:
            thread.join()
