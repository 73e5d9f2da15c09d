"""Amazon Linux images and their public parameters.

AWS: `/aws/service/ami-amazon-linux-latest/…` names the current image of each region, for each architecture; launch
templates refer to it with `resolve:ssm:`.
Emulator: has a made-up image list, no public parameters for images, and does not resolve.
"""

from __future__ import annotations

import hashlib
from typing import Any

from local.config import LocalConfig
from local.patches.replace import override
from local.patches.upstream import ec2, region_name, request_scope, ssm

ARCHITECTURES = ("x86_64", "arm64")
PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-{flavour}-{kernel}-{architecture}"
NAMES = [
    PARAMETER.format(flavour="kernel", kernel="default", architecture="{architecture}"),
    PARAMETER.format(flavour="kernel", kernel="6.1", architecture="{architecture}"),
    PARAMETER.format(flavour="minimal-kernel", kernel="default", architecture="{architecture}"),
]


AMAZONS = "137112412989"
"""The account that Amazon Linux's images belong to."""


class ImageNotFoundError(Exception):
    """RunInstances names an image that the region does not have."""


def install(config: LocalConfig) -> None:
    """Register the images and their parameters in every region."""
    ec2._docker_touched = lambda: False  # registered images would otherwise be looked for in Docker
    override(ssm, _public_parameter=_public_parameter)
    for region in config.regions:
        with request_scope(config.account, region):
            for architecture in ARCHITECTURES:
                _register(region, architecture)


def image_id_for(reference: str) -> str:
    """The image id that `reference` (an id, or `resolve:ssm:NAME`) means in the current region.

    Raises ImageNotFoundError.
    """
    image_id = reference
    if name := parameter_of(reference):
        parameter = ssm._parameters.get(name) or _public_parameter(name)
        if parameter is None:
            raise ImageNotFoundError(f"The parameter '{name}' does not exist in {region_name()}")
        image_id = str(parameter["Value"])
    if image_id not in ec2._images:
        raise ImageNotFoundError(f"The image id '[{image_id}]' does not exist")
    return image_id


def parameter_of(reference: str) -> str:
    """Name of the parameter in `resolve:ssm:NAME` or `resolve:ssm:NAME:VERSION`; empty for an image id."""
    before, resolve, name = reference.partition("resolve:ssm:")
    return name.split(":")[0] if resolve and not before else ""


def architecture_of(instance_type: str) -> str:
    """`arm64` for Graviton families (a `g` after the generation), else `x86_64`."""
    family = instance_type.split(".")[0]
    generation = next((index for index, letter in enumerate(family) if letter.isdigit()), len(family))
    return "arm64" if "g" in family[generation:] and not family.startswith("g") else "x86_64"


def _register(region: str, architecture: str) -> None:
    ec2._ensure_defaults_initialized()
    image_id = _id(region, architecture)
    ec2._images[image_id] = {
        "ImageId": image_id,
        "Name": f"al2023-ami-2023-kernel-6.1-{architecture}",
        "Description": "Amazon Linux 2023 (an instance of the local cloud)",
        "ImageLocation": "",
        "State": "available",
        "OwnerId": AMAZONS,
        "Public": True,
        "Architecture": architecture,
        "ImageType": "machine",
        "RootDeviceType": "ebs",
        "RootDeviceName": "/dev/xvda",
        "VirtualizationType": "hvm",
        "Hypervisor": "xen",
        "CreationDate": "2026-11-01T00:00:00.000Z",
        "BlockDeviceMappings": [],
    }


def _id(region: str, architecture: str) -> str:
    return "ami-0" + hashlib.sha256(f"{region}{architecture}".encode()).hexdigest()[:16]


def _public_parameter(name: str) -> dict[str, Any] | None:
    region = region_name()
    for architecture in ARCHITECTURES:
        if any(name == known.format(architecture=architecture) for known in NAMES):
            return {
                "Name": name,
                "Type": "String",
                "Value": _id(region, architecture),
                "Version": 1,
                "LastModifiedDate": 1793491200,
                "ARN": f"arn:aws:ssm:{region}::parameter{name}",
                "DataType": "text",
            }
    return None
