"""What a file system of AWS's at an end bears and charges: figures of its mounts, of itself, and dollars per GB.

Rates and prices are those that AWS publishes (docs/shared-file-systems.md, sources); what is not known is a range.
"""

from dataclasses import dataclass

from lambdas.core.estimate.figures import Burst, EndFigures, Figure
from lambdas.core.estimate.file_system_charges import Load, Side, charge
from lambdas.core.survey.served import Served, Told
from lambdas.core.words import many

MIB = 1.048576
GIB, TIB = 1024 * MIB, 1024 * 1024 * MIB
# EFS carries so much for each client; with Elastic throughput Amazon's own client carries more than the kernel's.
CLIENT_MB_S, ELASTIC_CLIENT_MB_S = 500 * MIB, 1500 * MIB
# What EFS meters of reads: a third of their bytes, so three times as much is read as written.
READS_METERED = 3
# Bursting: 50 KiB/s for each GiB and 1 MiB/s at least; 100 MiB/s for each TiB while there is credit, 100 at least.
BASELINE_SHARE, LEAST_BASELINE_MB_S = 50 / 1024 / 1024, MIB
BURST_MB_S = 100 * MIB
# Of a file system of up to a TiB, and as much again for each further one.
CREDIT_MB = 2.1 * TIB
# FSx reads from its cache about three times as fast as from its disks.
FSX_CACHED = 3


@dataclass(frozen=True)
class Regional:
    """MB/s of all clients together, at least and at most by region."""

    least: float
    most: float


_ELASTIC = {"source": Regional(20 * GIB, 60 * GIB), "destination": Regional(GIB, 5 * GIB)}
_BURSTING = {"source": Regional(3 * GIB, 5 * GIB), "destination": Regional(GIB, 3 * GIB)}
_PROVISIONED = {"source": Regional(3 * GIB, 10 * GIB), "destination": Regional(GIB, 3.33 * GIB)}
_ONE_ZONE = {"source": Regional(3 * GIB, 3 * GIB), "destination": Regional(GIB, GIB)}


@dataclass(frozen=True)
class Mounted:
    """File systems of AWS that an end is on, each with what AWS tells of it, None where that was not asked or not said.

    `is_whole`: all of the end's data is on them. `machines`: how many there are at the end.
    """

    side: Side
    served: tuple[tuple[Served, Told | None], ...]
    is_whole: bool = True
    machines: int = 1


def with_file_systems(ends: EndFigures, mounted: list[Mounted], load: Load) -> EndFigures:
    """`ends` with what their file systems bear and charge; without any that is known to be AWS's they stay."""
    changes: dict[str, Figure] = {}
    charges: list[Figure] = []
    for end in mounted:
        # How data is divided among several nobody knows, so none of them is taken for the limit.
        if end.is_whole and len(end.served) == 1:
            changes |= _rates(end, *end.served[0], load)
        if end.served:
            charges.append(_dearest(end, load))
    if charges and any(one.greatest for one in charges):
        low, value = sum(one.least for one in charges), sum(one.value for one in charges)
        changes["file_systems"] = Figure(
            value=value,
            low=low if low < value else None,
            origin="assumed",
            note="; ".join(one.note for one in charges),
        )
    return ends.model_copy(update=changes)


def _rates(end: Mounted, served: Served, told: Told | None, load: Load) -> dict[str, Figure]:
    found = {f"{end.side}_mount": _mount(end, served, told), f"{end.side}_file_system": _whole(end, served, told, load)}
    return {name: figure for name, figure in found.items() if figure}


def _mount(end: Mounted, served: Served, told: Told | None) -> Figure | None:
    """What the mounts of all machines carry; FSx publishes no bound of a client that a machine's network is not."""
    if served.service == "FSx":
        return None
    is_elastic = told is not None and told.mode == "elastic" and not told.one_zone
    may_be = told is None or is_elastic
    value = ELASTIC_CLIENT_MB_S if is_elastic and not served.file_system_id else CLIENT_MB_S
    note = f"{served.words}: {value / MIB:,.0f} MiB/s for each client"
    if may_be:
        note += ", 500 to 1,500 by mode and client"
    figure = Figure(
        value=value,
        low=CLIENT_MB_S if may_be else None,
        high=ELASTIC_CLIENT_MB_S if may_be else None,
        origin="published",
        note=note,
    )
    return figure.scaled(end.machines, f"{note}; {many(end.machines, 'machine')}" if end.machines > 1 else note)


def _whole(end: Mounted, served: Served, told: Told | None, load: Load) -> Figure | None:
    """What the file system carries of all its clients; None for FSx without its capacity."""
    if served.service == "FSx":
        return _capacity(end.side, served, told) if told else None
    metered = READS_METERED if end.side == "source" else 1
    if told is None:
        # All of the source is stored there, and counts if it is in the class Standard.
        least = _baseline(load.size_bytes if end.side == "source" else 0) * metered
        high = _ELASTIC[end.side].most
        value = min(max(BURST_MB_S * metered, least), high)
        note = f"{served.words}: mode not known; bursting without credit at worst, elastic at best"
        return Figure(value=value, low=min(least, value), high=high, origin="assumed", note=note)
    if told.mode == "elastic":
        return _bounded((_ONE_ZONE if told.one_zone else _ELASTIC)[end.side], f"{served.words}: elastic, by region")
    bound = (_ONE_ZONE if told.one_zone else _BURSTING)[end.side]
    lasting = _baseline(told.standard_bytes) * metered
    if told.mode == "provisioned":
        bound = (_ONE_ZONE if told.one_zone else _PROVISIONED)[end.side]
        rate = max(told.throughput_mb_s * metered, lasting)
        note = f"{served.words}: provisioned, {told.throughput_mb_s:.4g} MB/s as EFS meters it"
        return Figure(value=min(rate, bound.most), origin="published", note=note)
    return _bursting(served, told, metered, lasting, bound)


def _bursting(served: Served, told: Told, metered: int, lasting: float, bound: Regional) -> Figure:
    """While there is credit, how much of it nobody tells: all that it may hold, or none."""
    tib = max(told.standard_bytes / 1e6 / TIB, 1.0)
    value = min(lasting, bound.least)
    note = f"{served.words}: bursting, baseline of {told.standard_bytes / 1e9:,.0f} GB in Standard"
    most = min(BURST_MB_S * tib * metered, bound.most)
    if most <= value:
        return Figure(value=value, origin="published", note=note)
    rate = Figure(
        value=max(min(most, bound.least), value),
        low=value,
        high=most,
        origin="published",
        note=f"{BURST_MB_S / MIB:.0f} MiB/s for each TiB while credit lasts",
    )
    credit = Figure(
        value=CREDIT_MB * tib * metered,
        low=0,
        origin="published",
        note="2.1 TiB of credit for each TiB, unless it is used up",
    )
    return Figure(value=value, burst=Burst(rate=rate, credit=credit), origin="published", note=note)


def _capacity(side: Side, served: Served, told: Told) -> Figure:
    cached = told.throughput_mb_s * FSX_CACHED if side == "source" else None
    note = f"{served.words}: throughput capacity {told.throughput_mb_s:,.0f} MB/s"
    return Figure(value=told.throughput_mb_s, high=cached, origin="published", note=note)


def _bounded(bound: Regional, note: str) -> Figure:
    high = bound.most if bound.most > bound.least else None
    return Figure(value=bound.least, high=high, origin="published", note=note)


def _baseline(standard_bytes: float) -> float:
    """MB/s as EFS meters them: what Bursting throughput has without credit."""
    return max(standard_bytes / 1e6 * BASELINE_SHARE, LEAST_BASELINE_MB_S)


def _dearest(end: Mounted, load: Load) -> Figure:
    """Dollars per GB that is moved, of the dearest of an end's file systems; none of them may have all of it."""
    found = [charge(end.side, served, told, load) for served, told in end.served]
    dearest = max(found, key=lambda one: one.value)
    least = min(one.least for one in found) if end.is_whole else 0.0
    return dearest.model_copy(update={"low": least if least < dearest.value else None})


def unknown(mounted: list[Mounted]) -> list[str]:
    """Notes for people: of which file systems AWS has told nothing, and what would change that."""
    silent = [served for end in mounted for served, told in end.served if told is None]
    names = ", ".join(dict.fromkeys(one.words for one in silent))
    if not silent:
        return []
    return [f"{names}: its mode and limits are not known; the setting readFileSystems lets them be read"]
