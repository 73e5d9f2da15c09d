"""How much later than on the direct path the first byte comes through the pool, in the same transfer."""

from functools import partial
from statistics import median
from time import sleep, time

from bench.pool.real.site import DIRECT_MB_S, Layout, PoolError, Site, site
from bench.pool.real.watching import source_of
from bench.results import Result, say
from tests.e2e.account import OTHER

RUNS = 5
MOST_SECONDS, PATIENCE_SECONDS = 1.0, 60.0
# A relay writes what it has moved each 250 ms, so its first byte is that much earlier at most.
LOOK_SECONDS = 0.02


def first_byte() -> list[Result]:
    """Some transfers, one after the other, through a pool that stands and nobody else uses."""
    with site(Layout()) as place:
        source = source_of(place, 6.0)
        user = place.users(1)[0]
        later = []
        for number in range(RUNS + 1):
            name = f"first-byte-{number}"
            arn = place.start(user, name, source)
            at = _first_through(place, name)
            # The sender says so within some seconds.
            direct = place.account.cloud.wait_for(partial(_first_direct, place, name), PATIENCE_SECONDS)
            later.append(at - direct)
            say(f"  {name}: {later[-1]:.2f} s; {_steps(place, name, direct)}")
            place.cancel([arn])
    # Functions start with the first one.
    note = f"{', '.join(f'{seconds:.2f}' for seconds in later[1:])} s; the direct path has {DIRECT_MB_S:g} MB/s"
    return [
        Result("first byte through the pool, after the direct path's", median(later[1:]), "s", MOST_SECONDS, note=note)
    ]


def _steps(place: Site, transfer: str, direct: float) -> str:
    """When the last relay was told its keys, was seen to listen and joined, after the direct path's first byte."""
    nodes = place.account.nodes(transfer)
    moments = {"told": "onlineAt", "listens": "readyAt", "joined": "joinedAt"}
    found = {step: [float(node[at]) for node in nodes if at in node] for step, at in moments.items()}
    return ", ".join(f"{step} {max(times) - direct:.2f}" for step, times in found.items() if times)


def _first_direct(place: Site, transfer: str) -> float | None:
    """When the sender sent its first byte, Unix seconds; None before it has said so."""
    at = place.account.progress(transfer).get("firstByteAt")
    return float(at) if at else None


def _first_through(place: Site, transfer: str) -> float:
    """When a node of the other region had the first byte, Unix seconds. Raises PoolError."""
    folder, until = place.account.cloud.state.instances, time() + PATIENCE_SECONDS
    nodes = [
        item["instanceId"] for item in place.items("node#") if item["region"] == OTHER and item["state"] != "ENDED"
    ]
    while time() < until:
        for node in nodes:
            file = folder / node / "cpt/run" / transfer / "applied"
            words = file.read_text().split() if file.exists() else []
            if len(words) == 2 and int(words[1]) > 0:
                return time()
        sleep(LOOK_SECONDS)
    raise PoolError(f"{transfer}: no byte came through the pool in {PATIENCE_SECONDS:g} s")
