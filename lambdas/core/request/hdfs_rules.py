"""The rules of a request with HDFS at an end that a schema cannot say: what HDFS has not is refused by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from lambdas.core.ends.hdfs import DestinationHdfs, HdfsEnd, SourceHdfs
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.ends.paths import NamedPath, landing_of, path_of
from lambdas.core.ends.seated import SourcePaths

_NO_LIST = "the list is a file of a machine, and none is read there"
_NO_LINKS = "HDFS has no links that lead on"
_NO_MOUNT = "HDFS has no mounted file systems"
_NOT_THERE = "HDFS has none"
_ONLY_BETWEEN = "they are carried from HDFS to HDFS only: other ends name them in another way"
_ONLY_NAMES = "owners have names there, and no numbers"
_NOT_KEPT = "what is replaced in HDFS is not kept yet"
_ONLY_CHANGES = "with $.source.snapshotDiff only what has changed is listed, and all else would be removed"
_LEAVE_OUT = "leave it out"
_RESERVED, _SNAPSHOT = ".reserved", ".snapshot"
_Refused = tuple[str, object, bool, str, str]


def problems(source: SourceEnd, destination: DestinationEnd, said: Mapping[str, Any]) -> list[str]:
    """One line for each: field, value, what would be right; `said`: the whole request as a document."""
    ends: list[tuple[str, SourceEnd | DestinationEnd]] = [("source", source), ("destination", destination)]
    side = next((side for side, end in ends if isinstance(end, HdfsEnd)), None)
    if side is None:
        return []
    is_between = isinstance(source, HdfsEnd) and isinstance(destination, HdfsEnd)
    found = [(side, one) for one in _at_any_end(said, is_between=is_between)]
    found += [("source", one) for one in _at_the_source(source, said)] if isinstance(source, SourceHdfs) else []
    if isinstance(destination, DestinationHdfs):
        found += [("destination", one) for one in _at_the_destination(destination, said)]
    return [
        *_of_clusters(ends),
        *(
            f"$.{key}: {_value(value)}, and $.{where} is HDFS: {why}; {right}"
            for where, (key, value, is_refused, why, right) in found
            if is_refused
        ),
        *_of_paths(source, destination),
    ]


def _of_clusters(ends: list[tuple[str, SourceEnd | DestinationEnd]]) -> Iterator[str]:
    """A request names workers or their cluster, and a cluster at one end: which of its workers serve which is asked."""
    named: dict[str, str] = {}
    for side, end in ends:
        if not isinstance(end, HdfsEnd) or end.cluster_id is None:
            continue
        if end.workers is not None:
            yield (
                f"$.{side}.clusterId: '{end.cluster_id}', and $.{side}.workers names machines; leave one of them out"
            )
        if end.cluster_id in named:
            yield (
                f"$.{side}.clusterId: '{end.cluster_id}' is the cluster of $.{named[end.cluster_id]} as well; to copy "
                "within one cluster use hdfs dfs -cp or hadoop distcp, or name some of its instances as workers"
            )
        named.setdefault(end.cluster_id, side)


def _at_any_end(said: Mapping[str, Any], *, is_between: bool) -> Iterator[_Refused]:
    preserve = said["preserve"]
    for key in ("hardLinks", "sparse", "specialFiles"):
        yield f"preserve.{key}", True, preserve[key], _NOT_THERE, _LEAVE_OUT
    owners = preserve.get("owners")
    yield "preserve.owners", owners, owners is not None and not is_between, _ONLY_BETWEEN, _LEAVE_OUT
    yield "preserve.owners", owners, is_between and owners == "numeric", _ONLY_NAMES, "write 'names'"
    for key in ("xattrs", "acls"):
        yield f"preserve.{key}", True, preserve[key] and not is_between, _ONLY_BETWEEN, _LEAVE_OUT


def _at_the_source(source: SourceHdfs, said: Mapping[str, Any]) -> Iterator[_Refused]:
    links, select = said["links"], said["select"]
    yield "links", links, links == "follow", _NO_LINKS, _LEAVE_OUT
    yield "select.pathsFrom", select.get("pathsFrom"), "pathsFrom" in select, _NO_LIST, "write select.include"
    if diff := source.snapshot_diff:
        is_none = diff.source == diff.target
        yield "source.snapshotDiff.to", diff.target, is_none, "it is the earlier one too", "name a later snapshot"
        yield "delete", True, said["delete"], _ONLY_CHANGES, "leave snapshotDiff out: a mirror needs the whole listing"
    yield "select.oneFileSystem", True, select["oneFileSystem"], _NO_MOUNT, _LEAVE_OUT


def _at_the_destination(destination: DestinationHdfs, said: Mapping[str, Any]) -> Iterator[_Refused]:
    kept, chunk, block = said.get("keepReplaced"), said.get("chunkSizeMiB"), destination.block_size_mib
    yield "keepReplaced", kept, kept is not None, _NOT_KEPT, _LEAVE_OUT
    whole = f"its blockSizeMiB is {block}, and chunks are whole blocks"
    is_smaller = chunk is not None and block is not None and chunk < block
    removes_nothing = destination.trash and not said["delete"]
    yield (
        "destination.trash",
        True,
        removes_nothing,
        "$.delete is false, so nothing is removed",
        "set delete, or " + _LEAVE_OUT,
    )
    yield "chunkSizeMiB", chunk, is_smaller, whole, f"give {block} or more, or a smaller blockSizeMiB"


def _of_paths(source: SourceEnd, destination: DestinationEnd) -> Iterator[str]:
    for number, path in enumerate(source.paths if isinstance(source, SourcePaths) else []):
        field, is_named = f"$.source.paths[{number}]", isinstance(path, NamedPath)
        if isinstance(source, SourceHdfs):
            where = f"{field}.path" if is_named else field
            yield from _not_of_hdfs(where, path_of(path))
            if source.snapshot_diff and _SNAPSHOT in path_of(path).split("/"):
                yield f"{where}: '{path_of(path)}' is a snapshot, and $.source.snapshotDiff has two: name its directory"
        if isinstance(destination, DestinationHdfs):
            is_judged = isinstance(source, SourceHdfs) and not is_named
            where = f"{field}.as" if is_named else field
            yield from _not_as(where, landing_of(path) or "", is_judged=is_judged)
            yield from _not_reserved(where, landing_of(path) or "", destination.path)
    if isinstance(destination, DestinationHdfs):
        yield from _not_of_hdfs("$.destination.path", destination.path)
        if _SNAPSHOT in destination.path.split("/"):
            yield f"$.destination.path: '{destination.path}' is in a snapshot, which nobody can write; name another one"


def _not_of_hdfs(field: str, path: str) -> Iterator[str]:
    """What HDFS would not take of a path; `..` is refused of any end's."""
    names = path.removesuffix("/").split("/")[1:]
    if "" in names:
        yield f"{field}: '{path}' has an empty name; HDFS takes names joined by single slashes, so write it so"
    if "." in names:
        yield f"{field}: '{path}' has '.' as a name; give the path without it"
    if ":" in path:
        yield f"{field}: '{path}' has a ':', and HDFS takes no such name; give a path without it"
    if names[:1] == [_RESERVED]:
        yield f"{field}: '{path}' is below /{_RESERVED}, which HDFS keeps for itself; give the path that is meant"


def _not_as(field: str, landing: str, *, is_judged: bool) -> Iterator[str]:
    """The same of the path under which something lands; `is_judged`: its names have been, as those of a path."""
    if ":" in landing and not is_judged:
        yield f"{field}: it lands as '{landing}', and HDFS takes no name with ':'; give another path to land as"
    if _SNAPSHOT in landing.split("/"):
        yield f"{field}: it lands as '{landing}', and HDFS keeps '{_SNAPSHOT}' for itself; give another path to land as"


def _not_reserved(field: str, landing: str, into: str) -> Iterator[str]:
    """The same of what would land at the root of HDFS under a name that it keeps there."""
    is_root = not [name for name in into.split("/") if name not in ("", ".")]
    if is_root and landing.split("/")[0] == _RESERVED:
        kept = f"and HDFS keeps '/{_RESERVED}' for itself"
        yield f"{field}: it lands as '/{landing}', {kept}; give another path to land as"


def _value(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
