"""File systems of AWS that an end is on, as far as its mount tells which."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from lambdas.core.survey.whereabouts import FileSystem

_NAME = re.compile(
    r"(?:(?P<prefix>[a-z0-9-]+)\.)?(?P<id>fs-[0-9a-f]{8,40})\.(?P<service>efs|fsx)\.(?P<region>[a-z]{2}[a-z-]*-\d+)"
    r"\.amazonaws\.com(?:\.cn)?"
)
# EFS's mount helper sends through a proxy of its own on this machine, so the server has no other name.
_OF_PROXY = frozenset({"127.0.0.1", "localhost", "::1"})
# What the kernel calls NFS, by version.
_NFS = frozenset({"nfs", "nfs4"})

Service = Literal["EFS", "FSx"]


@dataclass(frozen=True)
class Served:
    """A file system of AWS's. `file_system_id`: `fs-…`, empty where the mount has EFS's proxy as its server."""

    service: Service
    file_system_id: str
    region: str

    @property
    def words(self) -> str:
        """The service and the id of the file system, for people."""
        return f"{self.service} {self.file_system_id or 'behind 127.0.0.1'}"


@dataclass(frozen=True)
class Told:
    """What AWS tells of a file system. `mode`: EFS's of its throughput, or that FSx has a capacity.

    `throughput_mb_s`: what was provisioned, MB/s; 0 with a mode that has none. `standard_bytes`: EFS's baseline goes by
    them. `infrequent_bytes`, `archive_bytes`: of these each read is charged, whatever the mode. `one_zone`: in one
    availability zone.
    """

    mode: Literal["elastic", "bursting", "provisioned", "capacity"]
    throughput_mb_s: float = 0.0
    standard_bytes: int = 0
    infrequent_bytes: int = 0
    archive_bytes: int = 0
    one_zone: bool = False


def server_of(one: FileSystem | None) -> str:
    """Name or address of the server of a mount, without the protocol; empty for a disk of the machine's own."""
    source = unquote(one.id or "") if one else ""
    server, found, _ = source.partition(":/")
    return re.sub(r"@tcp\d*$", "", server).strip("[]").lower() if found else ""


def recognised(one: FileSystem | None, region: str) -> Served | None:
    """The file system of AWS that a mount is of; `region`: of the machine, where the mount does not tell."""
    server = server_of(one)
    if one is None or not server:
        return None
    if one.kind in _NFS and server in _OF_PROXY:
        return Served("EFS", "", region)
    found = _NAME.fullmatch(server)
    if found is None:
        return None
    is_efs = found["service"] == "efs"
    # Of FSx a prefix is a storage machine's, of EFS the zone of a mount target.
    if found["prefix"] and found["prefix"].startswith("svm-") is is_efs:
        return None
    return Served("EFS" if is_efs else "FSx", found["id"], found["region"])


def of_all(places: Iterable[FileSystem | None], region: str) -> list[Served]:
    """The file systems of AWS among those that paths are on, each once."""
    return list(dict.fromkeys(found for one in places if (found := recognised(one, region))))


def unrecognised(places: Iterable[FileSystem | None], region: str) -> list[str]:
    """Servers of NFS among those that paths are on which may be anybody's: known by an address, or by another name."""
    nfs = (one for one in places if one and one.kind in _NFS and recognised(one, region) is None)
    return list(dict.fromkeys(filter(None, map(server_of, nfs))))
