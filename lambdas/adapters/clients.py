"""boto3 clients, made when first needed, one per service and region."""

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from lambdas.core.seats.credentials import SeatCredentials

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_stepfunctions import SFNClient
    from mypy_boto3_sts import STSClient

# Adaptive mode slows the client down before AWS throttles it; eight attempts are about 30 s of back-off at most.
_CONFIG = Config(
    retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=5, read_timeout=60, max_pool_connections=32
)
# A launch is tried once: EC2 answers a lack of capacity with HTTP 500, which boto3 would take for a fault of the server
# and ask again. What follows an answer is the launch plan's decision, and throttling the state machine's.
_LAUNCHING = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=60, max_pool_connections=32)
# For what an estimate can do without: one attempt, 3 s at most.
_QUICK = Config(retries={"total_max_attempts": 1}, connect_timeout=1, read_timeout=2, max_pool_connections=32)
# For looks that come again in a minute: what does not answer within seconds is looked at then. Tables and Step
# Functions answer in milliseconds; EC2 and SSM may take some seconds for a fleet.
_HURRIED = Config(
    retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=2, read_timeout=3, max_pool_connections=32
)
_HURRIED_FLEET = Config(
    retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=2, read_timeout=10, max_pool_connections=32
)
# For what a teardown can do without, and from which it does not want to learn that a service is slow.
_BRIEF = Config(retries={"total_max_attempts": 1}, connect_timeout=1, read_timeout=3, max_pool_connections=32)
# For copies: S3 answers one when it is made, at some 85 MB/s, so a GiB takes 12 s and a part of 5 GiB a minute.
# The adaptive mode slows all threads of a client down together where S3 says so. No checksum of ours: nothing is sent.
_COPYING = Config(
    retries={"mode": "adaptive", "total_max_attempts": 8},
    connect_timeout=5,
    read_timeout=150,
    max_pool_connections=64,
    request_checksum_calculation="when_required",
)
_making = Lock()


@cache
def _client(service: str, region: str, config: Config) -> Any:
    # The default session is not safe to make clients from in several threads.
    with _making:
        return boto3.client(service, region_name=region, config=config)  # type: ignore[call-overload]


class _Lazy:
    """Stands for a client until its first call: reading a service's model takes 30 to 300 ms of a cold start."""

    def __init__(self, service: str, region: str, config: Config) -> None:
        self._service, self._region, self._config = service, region, config

    def __getattr__(self, name: str) -> Any:
        return getattr(_client(self._service, self._region, self._config), name)


def _lazy(service: str, region: str, config: Config = _CONFIG) -> Any:
    return _Lazy(service, region, config)


def dynamodb(region: str, *, hurried: bool = False) -> "DynamoDBClient":
    """DynamoDB."""
    client: DynamoDBClient = _lazy("dynamodb", region, _HURRIED if hurried else _CONFIG)
    return client


def ec2(region: str, *, hurried: bool = False) -> "EC2Client":
    """EC2."""
    client: EC2Client = _lazy("ec2", region, _HURRIED_FLEET if hurried else _CONFIG)
    return client


def ec2_launching(region: str) -> "EC2Client":
    """EC2, for RunInstances."""
    client: EC2Client = _lazy("ec2", region, _LAUNCHING)
    return client


def ssm(region: str, *, hurried: bool = False) -> "SSMClient":
    """Systems Manager."""
    client: SSMClient = _lazy("ssm", region, _HURRIED_FLEET if hurried else _CONFIG)
    return client


def ssm_briefly(region: str) -> "SSMClient":
    """Systems Manager, for a call that may be lost."""
    client: SSMClient = _lazy("ssm", region, _BRIEF)
    return client


def s3(region: str) -> "S3Client":
    """S3."""
    client: S3Client = _lazy("s3", region)
    return client


def s3_of_session(region: str, keys: SeatCredentials) -> "S3Client":
    """S3 with the keys of a session, for copies."""
    with _making:
        client: S3Client = boto3.client(
            "s3",
            region_name=region,
            aws_access_key_id=keys.access_key_id,
            aws_secret_access_key=keys.secret_access_key,
            aws_session_token=keys.session_token,
            config=_COPYING,
        )
    return client


def events(region: str, *, hurried: bool = False) -> "EventBridgeClient":
    """EventBridge."""
    client: EventBridgeClient = _lazy("events", region, _HURRIED if hurried else _CONFIG)
    return client


def iam(region: str) -> "IAMClient":
    """IAM, which has one endpoint for all regions of a partition."""
    client: IAMClient = _lazy("iam", region, _QUICK)
    return client


def sns(region: str) -> "SNSClient":
    """SNS."""
    client: SNSClient = _lazy("sns", region)
    return client


def stepfunctions(region: str, *, hurried: bool = False) -> "SFNClient":
    """Step Functions."""
    client: SFNClient = _lazy("stepfunctions", region, _HURRIED if hurried else _CONFIG)
    return client


def sts(region: str) -> "STSClient":
    """STS of a region, whose sessions count in all regions."""
    client: STSClient = _lazy("sts", region, _HURRIED)
    return client


def scheduler(region: str, *, hurried: bool = False) -> Any:
    """EventBridge Scheduler."""
    return _lazy("scheduler", region, _HURRIED if hurried else _CONFIG)


def pricing(region: str) -> "PricingClient":
    """The price list, at the nearest to `region` of its three endpoints."""
    near = {"eu": "eu-central-1", "me": "eu-central-1", "af": "eu-central-1", "ap": "ap-south-1"}
    client: PricingClient = _lazy("pricing", near.get(region.split("-")[0], "us-east-1"), _QUICK)
    return client


def efs(region: str) -> Any:
    """EFS."""
    return _lazy("efs", region, _QUICK)


def fsx(region: str) -> Any:
    """FSx."""
    return _lazy("fsx", region, _QUICK)


def emr(region: str) -> Any:
    """EMR."""
    return _lazy("emr", region)


def service_quotas(region: str) -> "ServiceQuotasClient":
    """Service Quotas."""
    client: ServiceQuotasClient = _lazy("service-quotas", region, _QUICK)
    return client
