"""Deploys a cloud assembly (`cdk.out`) through the emulator's CloudFormation: assets, then each stack in its region."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from botocore.exceptions import WaiterError

from local.assets import Code, check_function

Client = Callable[[str, str], Any]
MANIFEST = "manifest.json"
WAIT_SECONDS = 120
# As `cdk bootstrap --bootstrap-kms-key-id` leaves it: the key's own policy admits whom IAM admits.
BOOTSTRAP_KEY = "arn:aws:kms:{}:{}:key/bootstrap"


class DeployError(Exception):
    """A stack or an asset was refused; the message names it and the reason."""


@dataclass(frozen=True)
class Stack:
    """One stack of the assembly."""

    name: str
    region: str
    template: dict[str, Any]
    assets: dict[str, Any]
    dependencies: tuple[str, ...]


def account_of(assembly: Path) -> str | None:
    """The account that the assembly is made for; None when it is environment-agnostic."""
    for artifact in _manifest(assembly)["artifacts"].values():
        account = artifact.get("environment", "aws://unknown-account/x").split("/")[2]
        if account.isdigit():
            return str(account)
    return None


def stacks_of(assembly: Path, default_region: str) -> list[Stack]:
    """Stacks in an order in which each comes after what it depends on. Raises DeployError without a manifest."""
    artifacts = _manifest(assembly)["artifacts"]
    stacks = {}
    for key, artifact in artifacts.items():
        if artifact["type"] != "aws:cloudformation:stack":
            continue
        region = artifact["environment"].rsplit("/", 1)[-1]
        properties = artifact["properties"]
        assets = assembly / f"{key}.assets.json"
        stacks[key] = Stack(
            name=properties.get("stackName", key),
            region=default_region if region == "unknown-region" else region,
            template=json.loads((assembly / properties["templateFile"]).read_text(encoding="utf-8")),
            assets=json.loads(assets.read_text(encoding="utf-8")).get("files", {}) if assets.exists() else {},
            dependencies=tuple(artifact.get("dependencies", ())),
        )
    ordered: list[Stack] = []
    done: set[str] = set()

    def visit(key: str) -> None:
        if key in stacks and key not in done:
            done.add(key)
            for dependency in stacks[key].dependencies:
                visit(dependency)
            ordered.append(stacks[key])

    for key in stacks:
        visit(key)
    return ordered


def deploy(assembly: Path, client: Client, account: str, home_region: str) -> dict[str, dict[str, str]]:
    """Check and publish all assets, create all stacks; outputs by stack name. Raises DeployError, AssetError."""
    stacks = stacks_of(assembly, home_region)  # which says what is wrong where there is no manifest
    bodies = _bodies(assembly.resolve(), (assembly / MANIFEST).stat().st_mtime_ns)
    for stack in stacks:
        publish(stack, client, account, bodies)
    return {stack.name: create(stack, client, account) for stack in stacks}


def check_assets(stack: Stack, assembly: Path) -> None:
    """Check every function of a stack against what Lambda takes."""
    paths = {key: assembly / asset["source"]["path"] for key, asset in stack.assets.items()}
    codes = {key: Code.read(path) for key, path in paths.items() if path.is_dir()}
    for logical_id, properties in _functions(stack):
        key = str(properties.get("Code", {}).get("S3Key", "")).removesuffix(".zip")
        if key in codes:
            check_function(properties.get("FunctionName", logical_id), _with_parameters(properties, stack), codes[key])


def runtimes_of(assembly: Path) -> set[str]:
    """Runtimes that the functions of an assembly declare."""
    return {properties["Runtime"] for stack in stacks_of(assembly, "") for _, properties in _functions(stack)}


@lru_cache(maxsize=2)
def _bodies(assembly: Path, changed_ns: int) -> Mapping[str, bytes]:
    """Return what is uploaded of each file asset by its path, once all are checked. Raises AssetError.

    `changed_ns`: when the assembly was made; to check and pack one takes three seconds of a core.
    """
    bodies: dict[str, bytes] = {}
    for stack in stacks_of(assembly, ""):
        check_assets(stack, assembly)
        for asset in stack.assets.values():
            path, packaging = asset["source"]["path"], asset["source"]["packaging"]
            if path not in bodies:
                bodies[path] = zip_of(assembly / path) if packaging == "zip" else (assembly / path).read_bytes()
    return bodies


def publish(stack: Stack, client: Client, account: str, bodies: Mapping[str, bytes]) -> None:
    """Put the file assets of a stack, whose content is `bodies` by path, where its template looks for them."""
    for asset in stack.assets.values():
        for destination in asset["destinations"].values():
            region = destination.get("region") or stack.region
            names = {"AWS::AccountId": account, "AWS::Region": region, "AWS::Partition": "aws"}
            bucket, key = (_filled(destination[name], names) for name in ("bucketName", "objectKey"))
            s3 = client("s3", region)
            make_bucket(s3, bucket, region, BOOTSTRAP_KEY.format(region, account))
            s3.put_object(Bucket=bucket, Key=key, Body=bodies[asset["source"]["path"]])


def make_bucket(s3: Any, bucket: str, region: str, key: str) -> None:
    """Create a bucket that encrypts with `key`, unless the account has it."""
    try:
        s3.head_bucket(Bucket=bucket)
    except s3.exceptions.ClientError:
        # S3 takes no constraint for its first region.
        where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        s3.create_bucket(Bucket=bucket, **where)
        default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
        rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": default}]}
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration=rules)


def zip_of(folder: Path) -> bytes:
    """A zip archive of a directory: the same bytes for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(str(path.relative_to(folder)))
                info.external_attr = (0o755 if path.stat().st_mode & 0o100 else 0o644) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
    return buffer.getvalue()


def create(stack: Stack, client: Client, account: str) -> dict[str, str]:
    """Create one stack and wait for it; its outputs. Raises DeployError with every failed resource."""
    cloudformation, s3 = client("cloudformation", stack.region), client("s3", stack.region)
    # A template of more than 51 200 bytes goes by way of the bootstrap bucket, as the CDK's own deploy does it.
    bucket = f"cdk-hnb659fds-assets-{account}-{stack.region}"
    make_bucket(s3, bucket, stack.region, BOOTSTRAP_KEY.format(stack.region, account))
    s3.put_object(Bucket=bucket, Key=f"{stack.name}.template.json", Body=json.dumps(stack.template).encode())
    cloudformation.create_stack(
        StackName=stack.name,
        TemplateURL=f"{s3.meta.endpoint_url}/{bucket}/{stack.name}.template.json",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    waiter = cloudformation.get_waiter("stack_create_complete")
    try:
        waiter.wait(StackName=stack.name, WaiterConfig={"Delay": 0.1, "MaxAttempts": WAIT_SECONDS * 10})
    except WaiterError as error:
        events = cloudformation.describe_stack_events(StackName=stack.name)["StackEvents"]
        reasons = [
            f"{event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason')}"
            for event in events
            if event["ResourceStatus"].endswith("FAILED")
        ]
        raise DeployError(f"stack {stack.name} in {stack.region}: {'; '.join(reasons) or error}") from error
    outputs = cloudformation.describe_stacks(StackName=stack.name)["Stacks"][0].get("Outputs", [])
    return {item["OutputKey"]: item["OutputValue"] for item in outputs}


def _functions(stack: Stack) -> Iterator[tuple[str, dict[str, Any]]]:
    """Logical id and properties of each function."""
    for logical_id, resource in stack.template.get("Resources", {}).items():
        if resource["Type"] == "AWS::Lambda::Function":
            yield logical_id, resource["Properties"]


def _with_parameters(properties: dict[str, Any], stack: Stack) -> dict[str, Any]:
    """A function with the values of the stack's own SSM parameters in its environment."""
    resources = stack.template.get("Resources", {})

    def value(given: Any) -> Any:
        named = given.get("Fn::GetAtt", []) if isinstance(given, dict) else []
        if named[1:] == ["Value"] and resources[named[0]]["Type"] == "AWS::SSM::Parameter":
            return resources[named[0]]["Properties"]["Value"]
        return given

    variables = (properties.get("Environment") or {}).get("Variables", {})
    return {**properties, "Environment": {"Variables": {name: value(given) for name, given in variables.items()}}}


def _filled(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("${" + name + "}", value)
    return text


def _manifest(assembly: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((assembly / MANIFEST).read_text(encoding="utf-8")))
    except OSError as error:
        raise DeployError(f"{assembly}: no cloud assembly there; run `make synth`") from error
