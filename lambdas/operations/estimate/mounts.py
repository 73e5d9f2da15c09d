"""File systems of AWS that a transfer's ends are on, by the survey, with what AWS tells where it may be asked."""

from lambdas.adapters.world import World
from lambdas.core.estimate import file_systems
from lambdas.core.estimate.file_system_charges import Load, Side
from lambdas.core.estimate.file_systems import Mounted
from lambdas.core.places.machines import EndMachine
from lambdas.core.survey import served
from lambdas.core.survey.survey import Survey
from lambdas.core.survey.whereabouts import FileSystem
from lambdas.core.transfer.accepted import AcceptedTransfer


def of_ends(transfer: AcceptedTransfer, survey: Survey | None, world: World) -> list[Mounted]:
    """Both ends, as far as they were looked at; none of a bucket, and nothing before a survey."""
    if survey is None:
        return []
    source, destination = survey.source.places or [], survey.destination.ways[:1]
    return [
        _end("source", [one.file_system for one in source], transfer.at_source, len(transfer.senders), world),
        _end(
            "destination",
            [one.file_system for one in destination],
            transfer.at_destination,
            len(transfer.receivers),
            world,
        ),
    ]


def load_of(transfer: AcceptedTransfer, survey: Survey) -> Load:
    """What the ends read and write."""
    moved = survey.to_send
    return Load(moved.bytes, moved.files, rereads=transfer.request.verify == "readback")


def notes(transfer: AcceptedTransfer, survey: Survey | None, mounted: list[Mounted]) -> list[str]:
    """Of which file systems nothing is known, and servers of NFS that may be anybody's."""
    if survey is None:
        return []
    places = [one.file_system for one in survey.source.places or []]
    places += [one.file_system for one in survey.destination.ways[:1]]
    servers = served.unrecognised(places, transfer.source_region)
    told = [f"what the file server {', '.join(servers)} charges is not known, and in no row"] if servers else []
    return [*file_systems.unknown(mounted), *told]


def _end(side: Side, places: list[FileSystem | None], first: EndMachine, machines: int, world: World) -> Mounted:
    region = first.region
    found = served.of_all(places, region)
    told = {}
    if world.env.read_file_systems:
        mine = [one for one in found if one.region == region and one.file_system_id]
        told = world.at(first.place).file_systems.told(mine) if mine else {}
    is_whole = bool(places) and all(served.recognised(one, region) for one in places)
    return Mounted(side, tuple((one, told.get(one)) for one in found), is_whole, machines)
