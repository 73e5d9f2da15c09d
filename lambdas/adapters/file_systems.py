"""EFS and FSx of one region: the mode and limits of file systems."""

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.core.survey.served import Served, Told

_MIB = 1.048576
_GIB_OF_TIB = 1024
# Of a scratch file system, whose throughput nobody chooses, MB/s for each TiB.
SCRATCH_MB_S = 200
# File systems that an end may be on, and more: each is a call of 3 s at most.
MOST_ASKED = 4


class AwsFileSystems:
    """FileSystems over DescribeFileSystems of both services."""

    def __init__(self, efs: Any, fsx: Any) -> None:
        self._asked = {"EFS": (efs, _of_efs), "FSx": (fsx, _of_fsx)}

    def told(self, served: Iterable[Served]) -> dict[Served, Told]:
        """See FileSystems: where it may not be asked, or does not answer at once, nothing is known."""
        found = {one: self._one(one) for one in list(served)[:MOST_ASKED]}
        return {one: told for one, told in found.items() if told is not None}

    def _one(self, served: Served) -> Told | None:
        client, read = self._asked[served.service]
        wanted: Any = served.file_system_id
        name = "FileSystemId" if served.service == "EFS" else "FileSystemIds"
        try:
            answer = client.describe_file_systems(**{name: wanted if served.service == "EFS" else [wanted]})
        except (ClientError, BotoCoreError):
            return None
        mine = [one for one in answer["FileSystems"] if one["FileSystemId"] == wanted]
        return read(mine[0]) if mine else None


def _of_efs(one: Mapping[str, Any]) -> Told | None:
    mode, sizes = one.get("ThroughputMode"), one.get("SizeInBytes", {})
    if mode not in ("elastic", "bursting", "provisioned"):
        return None
    # Without classes all of it is in the first one.
    return Told(
        mode=mode,
        throughput_mb_s=one.get("ProvisionedThroughputInMibps", 0.0) * _MIB,
        standard_bytes=sizes.get("ValueInStandard", sizes.get("Value", 0)),
        infrequent_bytes=sizes.get("ValueInIA", 0),
        archive_bytes=sizes.get("ValueInArchive", 0),
        one_zone=bool(one.get("AvailabilityZoneName")),
    )


def _of_fsx(one: Mapping[str, Any]) -> Told | None:
    mb_s = {"OPENZFS": _openzfs, "ONTAP": _ontap, "LUSTRE": _lustre}.get(one.get("FileSystemType", ""))
    found = mb_s(one) if mb_s else 0.0
    return Told(mode="capacity", throughput_mb_s=found) if found else None


def _openzfs(one: Mapping[str, Any]) -> float:
    return float(one.get("OpenZFSConfiguration", {}).get("ThroughputCapacity") or 0)


def _ontap(one: Mapping[str, Any]) -> float:
    said = one.get("OntapConfiguration", {})
    each = said.get("ThroughputCapacityPerHAPair")
    return float(each * (said.get("HAPairs") or 1) if each else said.get("ThroughputCapacity") or 0)


def _lustre(one: Mapping[str, Any]) -> float:
    """By the storage, or as much as was chosen for a file system that grows with its data."""
    said = one.get("LustreConfiguration", {})
    if chosen := said.get("ThroughputCapacity"):
        return float(chosen)
    is_scratch = str(said.get("DeploymentType", "")).startswith("SCRATCH")
    each = SCRATCH_MB_S if is_scratch else said.get("PerUnitStorageThroughput") or 0
    return float(each) * float(one.get("StorageCapacity") or 0) / _GIB_OF_TIB
