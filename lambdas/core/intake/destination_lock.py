"""The lock of destinations: who may write where on one machine or in one bucket, and who is received at which port.

A directory can have several names: links, "..", bind mounts. A transfer takes the lock by the path in its request,
which refuses most at once, and again when the survey has told which directories the path leads through. Directories of
a network file system have a lock of their own beside it, since other machines may see them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath

from lambdas.core.errors import DestinationBusy, DestinationTaken
from lambdas.core.request.request import TransferRequest
from lambdas.core.survey.survey import DestinationSurvey
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer

NOWHERE = ""
"""The path of a transfer that writes nothing there: it only has a port."""
NO_PORT = 0
"""Of what is no machine: any number of transfers have it."""


@dataclass(frozen=True)
class Way:
    """One way from the root to a destination: the directories that exist, and the names that lead on from the first.

    `names[i]` is looked up in `directories[i]`; names beyond the last directory did not exist yet.
    """

    directories: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, directories: Sequence[str], names: Sequence[str]) -> "Way":
        """Read a holding from the lists of a document or an item."""
        return cls(tuple(directories), tuple(names))


@dataclass(frozen=True)
class Holding:
    """The paths that one transfer holds of a machine; `ways` to its destination once it was surveyed."""

    path: str
    port: int
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True)
class Busy:
    """Why there is nothing for another: `holder` writes to an overlapping path; None: all ports are taken.

    `machine`: at which of several. `elsewhere`: through another machine, which shares the directory.
    """

    holder: str | None
    machine: str | None = None
    elsewhere: bool = False


def take(
    held: Mapping[str, Holding],
    path: str,
    transfer_id: str,
    ways: tuple[Way, ...] = (),
    ports: Sequence[int] = RECEIVER_PORTS,
) -> Holding | Busy:
    """Return what `transfer_id` gets of a machine of which `held` is taken, by transfer id; it may ask again.

    Where `ways` are not known those that it holds already stay, as does its port. `ports`: those that will do.
    """
    mine = held.get(transfer_id)
    ways = ways or (mine.ways if mine else ())
    others = {other: holding for other, holding in sorted(held.items()) if other != transfer_id}
    for other, holding in others.items():
        if (path and holding.path and overlaps(path, holding.path)) or lead_together(ways, holding.ways):
            return Busy(other)
    if mine:
        return Holding(path, mine.port, ways)
    taken = {holding.port for holding in others.values()}
    port = next((port for port in ports if port == NO_PORT or port not in taken), None)
    return Busy(None) if port is None else Holding(path, port, ways)


def take_shared(held: Mapping[str, Holding], transfer_id: str, ways: tuple[Way, ...]) -> Holding | Busy:
    """The same of directories that several machines see: neither paths nor ports of different ones are compared."""
    for other, holding in sorted(held.items()):
        if other != transfer_id and lead_together(ways, holding.ways):
            return Busy(other, elsewhere=True)
    return Holding("", 0, ways)


def ways_of(survey: DestinationSurvey) -> tuple[Way, ...]:
    """The ways that a survey found."""
    return tuple(Way.of(way.directories, way.names) for way in survey.ways)


def refusal(transfer: AcceptedTransfer, busy: Busy) -> DestinationTaken | DestinationBusy:
    """Return what is raised: DestinationTaken, which is tried again, where the request waits."""
    asked = transfer.request.destination
    # Between two buckets there is no machine, and no port that could be taken.
    machine = busy.machine or next((seat.machine.instance_id for seat in transfer.receivers), "")
    if busy.holder is None:
        field = _field_of(transfer.request, machine)
        why = f"'{machine}' receives {len(RECEIVER_PORTS)} transfers, the most"
        what, instead = "one of them has ended", "choose another machine"
    else:
        through = " through another machine that shares the directory" if busy.elsewhere else ""
        field = f"$.destination.{asked.where_field}"
        why = f"{asked.told(machine)} overlaps with what transfer '{busy.holder}' writes{through}"
        what, instead = "that has ended", f"choose another {asked.where_field}"
    if transfer.request.when_busy == "wait":
        return DestinationTaken(f"{field}: {why}; it waits until {what}, for 12 hours at most")
    return DestinationBusy(f"{field}: {why}; wait until {what} or {instead}")


def _field_of(request: TransferRequest, machine: str) -> str:
    """The key that names this machine; what goes to a bucket is received on the source's machine."""
    named = (("destination", request.destination), ("source", request.source))
    end, asked = next((end, asked) for end, asked in named if machine in asked.machine_ids)
    return f"$.{end}.{asked.field_of(asked.machine_ids.index(machine))}"


def lead_together(one: Iterable[Way], other: Iterable[Way]) -> bool:
    """Return whether one destination is the other or lies inside it, by the directories that both lead through."""
    below = {(directory, way.names[at:]) for way in one for at, directory in enumerate(way.directories)}
    for way in other:
        for at, directory in enumerate(way.directories):
            theirs = way.names[at:]
            if any(directory == found and _starts_alike(names, theirs) for found, names in below):
                return True
    return False


def overlaps(one: str, other: str) -> bool:
    """Return whether one path is the other or lies inside it."""
    return _starts_alike(_parts(one), _parts(other))


def _starts_alike(a: Sequence[str], b: Sequence[str]) -> bool:
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _parts(path: str) -> list[str]:
    return [part for part in normpath(path).split("/") if part]
