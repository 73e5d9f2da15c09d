"""Figures 10 to 13: whole transfers of four sizes by all four ways, what they cost, and which prices follow."""

import shutil
from pathlib import Path
from typing import Any

from bench.data_plane import files
from bench.pool.real.routes import own_relays
from bench.pool.real.series import keep
from bench.pool.real.service import DIRECT_MB_S, layout
from bench.pool.real.site import NODES, PoolError, Site, site
from bench.results import Result, say
from lambdas.core.pool.price import Gains, price_range, unified_usd_per_gb, usd_per_gb
from lambdas.core.tariff.fallback_prices import EGRESS_GB, instance_hour
from tests.e2e.account import HOME
from tests.e2e.files import make_files

# A hundredth of the paper's 30 to 120 GB.
SCALE = 100
SIZES_GB = (30, 60, 120)
# The paper: at most 20 % slower than own relays, more than twice as fast as end to end.
MOST_SLOWER, LEAST_FASTER = 1.2, 2.0
VM_USD_PER_SECOND = (instance_hour("c6in.large", HOME) or 0.0) / 3600
OWN, ENDS = "own relays", "end to end"


def figures_ten_to_thirteen() -> list[Result]:
    """Seconds of data, then dollars by the corrected formulas: the latter are arithmetic with measured times."""
    seconds: dict[str, dict[str, float]] = {}
    for kind in ("asymmetric", "symmetric"):
        with site(layout(kind, direct_mb_s=DIRECT_MB_S)) as place:
            ways: dict[str, dict[str, Any]] = {kind: place.through_pool}
            if kind == "asymmetric":
                ways |= {OWN: own_relays(NODES), ENDS: {"pairs": 0}}
            for size in SIZES_GB:
                source = make_files(place.work / f"set-{size}", small=1, large_bytes=int(size * 1e9 / SCALE))
                for way, relays in ways.items():
                    seconds.setdefault(way, {})[str(size)] = _seconds(
                        place, f"ten-{size}-{way.replace(' ', '-')}", source, relays
                    )
                shutil.rmtree(source)
    keep("10", seconds)
    return [*_times(seconds), *_costs(seconds), *_prices(seconds)]


def _seconds(place: Site, name: str, source: Path, relays: dict[str, Any]) -> float:
    user = place.users(1)[0]
    run = place.account.wait(place.start(user, name, source, relays=relays), 300)
    arrived = place.work / "out" / name / source.name
    if run.status != "SUCCEEDED" or files.digests(arrived) != files.digests(source):
        raise PoolError(f"{name}: {run.status}, {run.error}: {run.cause}")
    place.await_pool()
    shutil.rmtree(place.work / "out")
    found = float(run.report["seconds"]["transfer"])
    say(f"  {name}: {found:.1f} s")
    return found


def _times(seconds: dict[str, dict[str, float]]) -> list[Result]:
    largest = str(max(SIZES_GB))
    own, ends = seconds[OWN][largest], seconds[ENDS][largest]
    told = ", ".join(f"{way} {one[largest]:.1f}" for way, one in seconds.items())
    results = []
    for kind in ("asymmetric", "symmetric"):
        service, whose = seconds[kind][largest], f"Figure 10: {kind} service, {largest} GB / {SCALE}"
        results += [
            Result(
                f"{whose}, seconds over own relays'",
                service / own,
                "×",
                MOST_SLOWER,
                note=f"printed: 1.2 at most; {told} s",
            ),
            Result(
                f"{whose}: times as fast as end to end",
                ends / service,
                "×",
                LEAST_FASTER,
                "higher",
                "printed: 2; the gain of own relays is put in",
            ),
        ]
    return results


def _gains(seconds: dict[str, dict[str, float]], kind: str) -> Gains:
    """a and c, of all sizes together."""
    own, ends, service = (sum(seconds[way].values()) for way in (OWN, ENDS, kind))
    return Gains(a=ends / own, c=service / own)


def _costs(seconds: dict[str, dict[str, float]]) -> list[Result]:
    """Figure 11: compute alone; what leaves the region costs the same by all ways."""
    largest = str(max(SIZES_GB))
    vms = {OWN: 2 + NODES, ENDS: 2}
    usd = {way: SCALE * seconds[way][largest] * count * VM_USD_PER_SECOND for way, count in vms.items()}
    for kind in ("asymmetric", "symmetric"):
        prices = price_range(VM_USD_PER_SECOND, NODES, _gains(seconds, kind))
        usd[kind] = SCALE * seconds[kind][largest] * (2 * VM_USD_PER_SECOND + prices.low)
    outbound = int(largest) * EGRESS_GB[HOME]
    keep("11", {"compute": usd, "outbound": outbound})
    told = ", ".join(f"{way} ${one:.3f}" for way, one in usd.items())
    # At its lower bound the service costs what two VMs alone do: that is how the bound is defined.
    note = f"{told}; outbound ${outbound:.2f} each; the service at its lower bound; printed: end to end cheapest"
    return [Result("Figure 11: end to end over own relays, compute", usd[ENDS] / usd[OWN], "", 1.0, note=note)]


def _prices(seconds: dict[str, dict[str, float]]) -> list[Result]:
    """Figures 12 and 13, arithmetic: the range per GB, without outbound traffic and with it."""
    found, results = {}, []
    for kind in ("asymmetric", "symmetric"):
        gains = _gains(seconds, kind)
        prices = price_range(VM_USD_PER_SECOND, NODES, gains)
        rate = sum(SIZES_GB) * 1000 / SCALE / sum(seconds[kind].values())
        ends = [usd_per_gb(usd, rate) for usd in (prices.low, prices.high)]
        whole = [unified_usd_per_gb(usd, rate, EGRESS_GB[HOME]) for usd in (prices.low, prices.high)]
        found[kind] = {"12": ends, "13": whole, "empty": prices.is_empty, "a": gains.a, "b": gains.b, "c": gains.c}
        note = f"a {gains.a:.2f}, b {gains.b:.2f}, c {gains.c:.2f}; "
        note += f"with outbound ${1e3 * whole[0]:.2f} to {1e3 * whole[1]:.2f} per TB"
        width = f"{', empty: the lower bound is charged' if prices.is_empty else ''}"
        results.append(
            Result(
                f"Figure 12: {kind}, highest price",
                1e3 * ends[1],
                "$/TB",
                note=f"lowest {1e3 * ends[0]:.2f}{width}; {note}",
            )
        )
    keep("12", found)
    lower = found["symmetric"]["12"][1] <= found["asymmetric"]["12"][1]  # type: ignore[index]
    results.append(
        Result("Figures 12, 13: symmetric no dearer than asymmetric", float(lower), "", note="printed: lower; 1 is yes")
    )
    return results
