"""EC2 instances of one region."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnectedError

from lambdas.adapters.records import Instance, LaunchError, LaunchRequest
from lambdas.core.architecture import architecture_of
from lambdas.core.seats.consent import END_TAG, LENT_TAG
from lambdas.core.tariff.instance_types import NETWORK_WEIGHTING

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

TRANSFER_TAG = "cpt:transfer"
ROLE_TAG = "cpt:role"
POOL_TAG = "cpt:pool"
DEPLOYMENT_TAG = "cpt:deployment"
_ALIVE = ["pending", "running", "stopping", "stopped"]
# TerminateInstances takes 1 000 ids, a filter 200 values; one page of 100 keeps every call far below.
_PAGE = 100


class Ec2Compute:
    """Compute over EC2; `launching` is a client that tries each call once."""

    def __init__(self, client: "EC2Client", deployment: str, launching: "EC2Client") -> None:
        self._client = client
        self._launching = launching
        self._deployment = deployment

    def describe(self, instance_ids: Iterable[str]) -> list[Instance]:
        """See Compute; by filter, since naming an id that EC2 does not show yet would fail the whole call."""
        found: list[Instance] = []
        for ids in _pages(instance_ids):
            found += self._find([{"Name": "instance-id", "Values": ids}])
        return found

    def of_transfer(self, transfer_id: str) -> list[Instance]:
        """See Compute."""
        return self._find(
            [
                {"Name": f"tag:{TRANSFER_TAG}", "Values": [transfer_id]},
                {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]},
                {"Name": "instance-state-name", "Values": _ALIVE},
            ]
        )

    def of_deployment(self) -> list[Instance]:
        """See Compute."""
        return self._find(
            [
                {"Name": "tag-key", "Values": [TRANSFER_TAG]},
                {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]},
                {"Name": "instance-state-name", "Values": _ALIVE},
            ]
        )

    def of_pool(self) -> list[Instance]:
        """See Compute."""
        return self._find(
            [
                {"Name": f"tag:{POOL_TAG}", "Values": [self._deployment]},
                {"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [self._deployment]},
                {"Name": "instance-state-name", "Values": _ALIVE},
            ]
        )

    def running(self) -> list[Instance]:
        """See Compute."""
        return self._find([{"Name": "instance-state-name", "Values": ["pending", "running"]}])

    def launch(self, request: LaunchRequest) -> list[Instance]:
        """See Compute."""
        try:
            answer = self._launching.run_instances(**self._run_arguments(request))
        except ClientError as error:
            raise LaunchError(error.response["Error"]["Code"], error.response["Error"]["Message"]) from error
        except (NotConnectedError, HTTPClientError) as error:
            raise LaunchError("Unavailable", f"no answer: {error}") from error
        # In order of launch, whatever the order of the answer: a repeated call must name the same slots.
        return [_instance(item) for item in sorted(answer["Instances"], key=lambda item: item.get("AmiLaunchIndex", 0))]

    def _run_arguments(self, request: LaunchRequest) -> dict[str, Any]:
        interface: dict[str, Any] = {"DeviceIndex": 0, "SubnetId": request.subnet_id, "Groups": [request.group_id]}
        if request.public_address:
            interface["AssociatePublicIpAddress"] = True
        owned = self._of_transfer(request.transfer_id, request.role) if request.transfer_id else self._of_the_pool()
        tags = [
            *({"Key": key, "Value": value} for key, value in request.tags.items()),
            {"Key": DEPLOYMENT_TAG, "Value": self._deployment},
            *({"Key": key, "Value": value} for key, value in owned.items()),
        ]
        template = f"{self._deployment}-{'relay' if request.transfer_id else 'pool'}"
        arm = architecture_of(request.instance_type) == "arm64"
        arguments: dict[str, Any] = {
            # CloudFormation adds versions but never moves $Default.
            "LaunchTemplate": {
                "LaunchTemplateName": template + ("-arm64" if arm else ""),
                "Version": "$Latest",
            },
            "InstanceType": request.instance_type,
            "MinCount": 1,
            "MaxCount": request.count,
            "ClientToken": request.client_token,
            "NetworkInterfaces": [interface],
            "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in ("instance", "volume")],
        }
        if request.favours_network:
            arguments["NetworkPerformanceOptions"] = {"BandwidthWeighting": NETWORK_WEIGHTING}
        if request.spot:
            options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
            arguments["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
        return arguments

    def _of_transfer(self, transfer_id: str, role: str) -> dict[str, str]:
        return {TRANSFER_TAG: transfer_id, ROLE_TAG: role, "Name": f"{self._deployment} {transfer_id} {role} relay"}

    def _of_the_pool(self) -> dict[str, str]:
        return {POOL_TAG: self._deployment, "Name": f"{self._deployment} pool"}

    def terminate(self, instance_ids: Iterable[str]) -> None:
        """See Compute."""
        for ids in _pages(instance_ids):
            self._terminate(ids)

    def _terminate(self, ids: list[str]) -> None:
        try:
            self._client.terminate_instances(InstanceIds=ids)
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidInstanceID.NotFound":
                raise
            if len(ids) > 1:  # one unknown id fails the call for all
                for single in ids:
                    self._terminate([single])

    def _find(self, filters: list[dict[str, Any]]) -> list[Instance]:
        pages = self._client.get_paginator("describe_instances").paginate(Filters=filters)  # type: ignore[arg-type]
        return [_instance(item) for page in pages for group in page["Reservations"] for item in group["Instances"]]


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    source = iter(ids)
    while page := list(islice(source, _PAGE)):
        yield page


def _instance(item: Any) -> Instance:
    options = item.get("CpuOptions") or {}
    cores = options.get("CoreCount")
    tags = {tag["Key"]: tag["Value"] for tag in item.get("Tags", [])}
    return Instance(
        instance_id=item["InstanceId"],
        state=item["State"]["Name"],
        instance_type=item["InstanceType"],
        availability_zone=(item.get("Placement") or {}).get("AvailabilityZone", ""),
        vpc_id=item.get("VpcId", ""),
        subnet_id=item.get("SubnetId", ""),
        private_address=item.get("PrivateIpAddress", ""),
        public_address=item.get("PublicIpAddress") or None,
        vcpus=cores * options.get("ThreadsPerCore", 1) if cores else None,
        transfer_id=tags.get(TRANSFER_TAG),
        spot=item.get("InstanceLifecycle") == "spot",
        lent_to=tags.get(LENT_TAG),
        end_of=tags.get(END_TAG),
        group_ids=frozenset(group["GroupId"] for group in item.get("SecurityGroups", [])),
        state_reason=(item.get("StateReason") or {}).get("Message"),
    )
