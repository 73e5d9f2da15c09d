"""File systems that ends may be on: EFS's modes and sizes, and FSx, of which nothing but capacities is there.

AWS: EFS refuses a mode that it does not have, Provisioned without a rate, and a rate without that; its sizes have all
classes, and without a key of KMS's none is named. FSx describes file systems by their ids, and all of a call fails
where one of them is unknown.
Emulator: EFS takes any mode and rate, and knows no class Archive; it has no FSx. Here EFS keeps to that, and FSx makes
and describes file systems whose throughput is chosen or follows from their storage.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from local.patches.json_services import RefusedError, add
from local.patches.replace import override
from local.patches.upstream import account_id, efs, region_name, scoped_dict

MODES = ("bursting", "provisioned", "elastic")
CONFIGURATIONS = {
    "LUSTRE": "LustreConfiguration",
    "ONTAP": "OntapConfiguration",
    "OPENZFS": "OpenZFSConfiguration",
}
_create = efs._create_file_system
_respond = efs._fs_response
_file_systems: Any = scoped_dict()


def install() -> None:
    """Add FSx, and have EFS refuse what AWS does."""
    override(efs, _create_file_system=_create_efs, _fs_response=_as_aws)
    add(
        "fsx",
        "AWSSimbaAPIService_v20180301",
        {"CreateFileSystem": create_file_system, "DescribeFileSystems": describe_file_systems},
    )


def _create_efs(body: dict[str, Any]) -> Any:
    mode, rate = body.get("ThroughputMode", "bursting"), body.get("ProvisionedThroughputInMibps")
    if mode not in MODES or (mode == "provisioned") is (rate is None):
        return efs._error(400, "BadRequest", f"throughput mode {mode} with ProvisionedThroughputInMibps {rate}")
    return _create(body)


def _as_aws(record: dict[str, Any]) -> Any:
    answer = _respond(record)
    if not answer["KmsKeyId"]:
        del answer["KmsKeyId"]
    return {**answer, "SizeInBytes": {"ValueInArchive": 0, **answer["SizeInBytes"]}}


def create_file_system(request: dict[str, Any]) -> dict[str, Any]:
    """See AWS; it is available at once."""
    kind = request.get("FileSystemType", "")
    name = CONFIGURATIONS.get(kind)
    if name is None:
        raise RefusedError("BadRequest", f"file systems of type {kind} are not supported here")
    if kind != "LUSTRE" and name not in request:
        raise RefusedError("BadRequest", f"{kind} needs {name}")
    file_system_id = f"fs-{secrets.token_hex(17)[:17]}"
    made = {
        "OwnerId": account_id(),
        "CreationTime": time.time(),
        "FileSystemId": file_system_id,
        "FileSystemType": kind,
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": request.get("StorageCapacity", 0),
        "SubnetIds": request["SubnetIds"],
        "ResourceARN": f"arn:aws:fsx:{region_name()}:{account_id()}:file-system/{file_system_id}",
        name: request.get(name) or {"DeploymentType": "SCRATCH_1"},
    }
    _file_systems[file_system_id] = made
    return {"FileSystem": made}


def describe_file_systems(request: dict[str, Any]) -> dict[str, Any]:
    """See AWS; all on one page."""
    wanted = request.get("FileSystemIds") or list(_file_systems)
    unknown = [one for one in wanted if one not in _file_systems]
    if unknown:
        raise RefusedError("FileSystemNotFound", f"File system '{unknown[0]}' does not exist.")
    return {"FileSystems": [_file_systems[one] for one in wanted]}
