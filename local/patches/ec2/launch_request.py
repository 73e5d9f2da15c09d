"""RunInstances' parameters, merged with the launch template they name, checked against what exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from local.patches.ec2.images import ImageNotFoundError, image_id_for, parameter_of
from local.patches.ec2.instance_types import WEIGHTINGS, weightings
from local.patches.ec2.wire import Params, members, parameter
from local.patches.upstream import ec2, iam


class LaunchRefusedError(Exception):
    """RunInstances answers an error; `code` is the AWS error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class LaunchRequest:
    """The parameters of one RunInstances call, resolved."""

    image_id: str
    image_parameter: str
    instance_type: str
    least: int
    most: int
    subnet_id: str
    zone: str
    group_ids: list[str]
    public: bool
    profile: dict[str, str] | None
    key_name: str
    user_data: str
    token: str
    spot: bool
    tags: dict[str, str]
    template_id: str
    role: str | None
    http_tokens: str
    encrypted: str
    names_disk_key: bool
    weighting: str

    @property
    def market(self) -> str:
        """`spot` or `on-demand`."""
        return "spot" if self.spot else "on-demand"


def read_request(params: Params) -> LaunchRequest:
    """Merge and check. Raises LaunchRefusedError with AWS's code for whatever does not exist."""
    template_id, template = _template(params)
    own = ec2._parse_lt_data({f"R.{key}": value for key, value in params.items()}, prefix="R")
    for number, mapping in enumerate(own.get("BlockDeviceMappings") or [], 1):
        mapping.get("Ebs", {})["KmsKeyId"] = parameter(params, f"BlockDeviceMapping.{number}.Ebs.KmsKeyId")
    merged = {**template, **{key: value for key, value in own.items() if key != "TagSpecifications"}}
    interface = (merged.get("NetworkInterfaces") or [{}])[0]
    subnet_id = parameter(params, "SubnetId") or interface.get("SubnetId") or ec2._DEFAULT_SUBNET_ID
    subnet = ec2._subnets.get(subnet_id)
    if subnet is None:
        raise LaunchRefusedError("InvalidSubnetID.NotFound", f"The subnet ID '{subnet_id}' does not exist")
    if parameter(params, "NetworkInterface.1.DeviceIndex") and members(params, "SecurityGroupId"):
        raise LaunchRefusedError(
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same request",
        )
    groups = interface.get("Groups") or merged.get("SecurityGroupIds") or []
    public = interface.get("AssociatePublicIpAddress")
    least, most = int(parameter(params, "MinCount") or 1), int(parameter(params, "MaxCount") or 1)
    if not 1 <= least <= most:
        raise LaunchRefusedError(
            "InvalidParameterValue", f"MinCount {least} and MaxCount {most}: 1 ≤ MinCount ≤ MaxCount"
        )
    image = str(merged.get("ImageId") or "")
    try:
        image_id = image_id_for(image)
    except ImageNotFoundError as error:
        raise LaunchRefusedError("InvalidAMIID.NotFound", str(error)) from error
    profile = _profile(merged.get("IamInstanceProfile"))
    return LaunchRequest(
        image_id=image_id,
        image_parameter=parameter_of(image),
        instance_type=merged.get("InstanceType") or "m1.small",
        least=least,
        most=most,
        subnet_id=subnet_id,
        zone=subnet["AvailabilityZone"],
        group_ids=_groups([str(group) for group in groups], subnet["VpcId"]),
        public=bool(subnet.get("MapPublicIpOnLaunch")) if public is None else str(public).lower() == "true",
        profile=profile,
        key_name=merged.get("KeyName") or "",
        user_data=merged.get("UserData") or "",
        token=parameter(params, "ClientToken"),
        spot=_market(params, template) == "spot",
        tags=_tags(template, own),
        template_id=template_id,
        role=_role_of(profile),
        http_tokens=str((merged.get("MetadataOptions") or {}).get("HttpTokens", "optional")),
        encrypted=_encrypted(merged),
        names_disk_key=bool(_volumes(merged)) and all(volume.get("KmsKeyId") for volume in _volumes(merged)),
        weighting=_weighting(params, merged.get("InstanceType") or "m1.small"),
    )


def _template(params: Params) -> tuple[str, dict[str, Any]]:
    name = parameter(params, "LaunchTemplate.LaunchTemplateName")
    template_id = parameter(params, "LaunchTemplate.LaunchTemplateId")
    if not name and not template_id:
        return "", {}
    for template in ec2._launch_templates.values():
        if template["LaunchTemplateName"] == name or template["LaunchTemplateId"] == template_id:
            break
    else:
        if name:
            raise LaunchRefusedError(
                "InvalidLaunchTemplateName.NotFoundException",
                f"At least one of the launch templates specified in the request does not exist: {name}",
            )
        raise LaunchRefusedError(
            "InvalidLaunchTemplateId.NotFound",
            f"The specified launch template, with template ID {template_id}, does not exist.",
        )
    wanted = parameter(params, "LaunchTemplate.Version") or "$Default"
    number = {"$Default": template["DefaultVersionNumber"], "$Latest": template["LatestVersionNumber"]}.get(
        wanted, wanted
    )
    for version in template["Versions"]:
        if str(version["VersionNumber"]) == str(number):
            return str(template["LaunchTemplateId"]), dict(version["LaunchTemplateData"])
    raise LaunchRefusedError(
        "InvalidLaunchTemplateId.VersionNotFound", f"Could not find launch template version {wanted}."
    )


def _groups(groups: list[str], vpc_id: str) -> list[str]:
    if not groups:
        default = [
            group_id
            for group_id, group in ec2._security_groups.items()
            if group["VpcId"] == vpc_id and group["GroupName"] == "default"
        ]
        return default or [ec2._DEFAULT_SG_ID]
    for group_id in groups:
        group = ec2._security_groups.get(group_id)
        if group is None:
            raise LaunchRefusedError("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        if group["VpcId"] != vpc_id:
            raise LaunchRefusedError(
                "InvalidParameter", f"Security group {group_id} and the subnet belong to different networks."
            )
    return groups


def _profile(wanted: dict[str, str] | None) -> dict[str, str] | None:
    if not wanted:
        return None
    profile, error = ec2._resolve_iam_instance_profile(iam_arn=wanted.get("Arn", ""), iam_name=wanted.get("Name", ""))
    if error:
        name = wanted.get("Name") or wanted.get("Arn")
        raise LaunchRefusedError(
            "InvalidParameterValue", f"Value ({name}) for parameter iamInstanceProfile is invalid: no such profile"
        )
    return dict(profile)


def _market(params: Params, template: dict[str, Any]) -> str:
    return str(
        parameter(params, "InstanceMarketOptions.MarketType")
        or (template.get("InstanceMarketOptions") or {}).get("MarketType")
        or ""
    )


def _weighting(params: Params, instance_type: str) -> str:
    """AWS's pages do not say with which code a type without a choice is refused."""
    wanted = parameter(params, "NetworkPerformanceOptions.BandwidthWeighting")
    if wanted and wanted not in WEIGHTINGS:
        raise LaunchRefusedError(
            "InvalidParameterValue", f"Value ({wanted}) for parameter BandwidthWeighting is invalid."
        )
    if wanted and wanted not in weightings(instance_type):
        raise LaunchRefusedError(
            "InvalidParameterCombination",
            f"The instance type '{instance_type}' does not support the bandwidth weighting '{wanted}'.",
        )
    return wanted or "default"


def _tags(template: dict[str, Any], own: dict[str, Any]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for source in (template, own):
        for specification in source.get("TagSpecifications") or []:
            if specification["ResourceType"] == "instance":
                tags.update({tag["Key"]: str(tag["Value"]) for tag in specification.get("Tags") or []})
    return tags


def _encrypted(merged: dict[str, Any]) -> str:
    volumes = _volumes(merged)
    return str(bool(volumes) and all(str(item.get("Encrypted", "")).lower() == "true" for item in volumes)).lower()


def _volumes(merged: dict[str, Any]) -> list[dict[str, Any]]:
    return [item["Ebs"] for item in merged.get("BlockDeviceMappings") or [] if "Ebs" in item]


def _role_of(profile: dict[str, str] | None) -> str | None:
    if profile is None:
        return None
    found = iam._lookup_instance_profile(arn=profile["Arn"], name="")
    roles = (found or {}).get("Roles") or []
    if not roles:
        return None
    return str(roles[0]["RoleName"] if isinstance(roles[0], dict) else roles[0])
