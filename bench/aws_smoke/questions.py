"""Questions that the control plane asks too, and mistakes whose codes it knows: for the recording, at no cost."""

from collections.abc import Callable

from botocore.exceptions import ClientError

from bench.aws_smoke.account import Client, SmokeError
from bench.aws_smoke.options import Options
from lambdas.core.tariff.quotas import QUOTA_CODES

NOBODY = "i-0123456789abcdef0"
COMMAND = "00000000-0000-4000-8000-000000000000"


def ask(client: Client, options: Options, subnet: str, bucket: str) -> None:
    """Ask all of them. Raises SmokeError where a mistake is not answered as one, or a question as a mistake."""
    region, kind = options.source, options.relay_type
    ec2, ssm = client("ec2", region), client("ssm", region)
    ec2.describe_instance_types(InstanceTypes=[kind])
    offered = [{"Name": "instance-type", "Values": [kind]}]
    ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=offered)
    (found,) = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    ec2.describe_vpcs(VpcIds=[found["VpcId"]])
    client("service-quotas", region).get_service_quota(ServiceCode="ec2", QuotaCode=QUOTA_CODES["on-demand"])
    mistakes: dict[str, Callable[[], object]] = {
        "InvalidInstanceID.NotFound": lambda: ec2.describe_instances(InstanceIds=[NOBODY]),
        "InvalidInstanceId": lambda: ssm.send_command(
            InstanceIds=[NOBODY], DocumentName="AWS-RunShellScript", Parameters={"commands": ["true"]}
        ),
        "InvocationDoesNotExist": lambda: ssm.get_command_invocation(CommandId=COMMAND, InstanceId=NOBODY),
        "NoSuchKey": lambda: client("s3").get_object(Bucket=bucket, Key="nothing"),
    }
    for code, mistake in mistakes.items():
        try:
            mistake()
        except ClientError as error:
            if (given := error.response["Error"]["Code"]) == code:
                continue
            raise SmokeError(f"AWS answers {given} where {code} was expected: {error}") from error
        raise SmokeError(f"AWS answers nothing where {code} was expected")
