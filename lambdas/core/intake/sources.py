"""The check whether the source is on the disks that it was on: an empty mount point looks like an empty source."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from urllib.parse import unquote

from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.survey.whereabouts import SourcePath, Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer


def on_file_systems(places: Iterable[Whereabouts]) -> list[SourcePath]:
    """What is noted of the source's paths."""
    return [
        SourcePath(path=place.path, file_system=place.file_system) for place in places if place.file_system is not None
    ]


def exchanged(before: Iterable[SourcePath], now: Iterable[SourcePath], when: str) -> Iterator[str]:
    """A line for each path that is on another file system than it was."""
    known = {noted.path: noted.file_system for noted in before}
    for found in now:
        was = known.get(found.path)
        if was is not None and not was.is_same(found.file_system):
            path = unquote(found.path, errors="backslashreplace")
            yield (
                f"$.source.paths: '{path}' was on another file system ({was.words()}) {when}, and is on "
                f"{found.file_system.words()} now; mount it as it was"
            )


def mirror_key(transfer: AcceptedTransfer) -> str:
    """Return what tells a mirror from others, whatever its runs are called: its ends and their paths."""
    request = transfer.request
    # Of a path without another name the same as ever: what is noted of mirrors stays.
    paths = (
        part for path in request.source.asked_paths for part in ([path] if isinstance(path, str) else path.values())
    )
    # A worker has a file system of its own, too, with other paths.
    kind = (request.source.kind,) if isinstance(request.source, HdfsEnd) else ()
    ends = (*kind, *_machines(request.source), *paths, *_machines(request.destination))
    return blake2b("\0".join((*ends, request.destination.where)).encode(), digest_size=16).hexdigest()


def _machines(end: SourceEnd | DestinationEnd) -> tuple[str, ...]:
    """A cluster of EMR stays the same where its workers come and go."""
    return (end.cluster_id,) if isinstance(end, HdfsEnd) and end.cluster_id else end.machine_ids
