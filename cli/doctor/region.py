"""The resources that the stack of a region must have made, and may have lost: documents, images, daemons."""

from collections.abc import Mapping
from functools import partial
from typing import get_args

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Findings, failed, looked, ok
from lambdas.adapters.environment import DaemonAsset
from lambdas.adapters.records import DocumentName

_DOCUMENTS: tuple[DocumentName, ...] = get_args(DocumentName)
_ALIAS = "resolve:ssm:"


class Region:
    """One enrolled region; `daemons` by architecture."""

    def __init__(self, aws: Aws, region: str, daemons: Mapping[str, DaemonAsset]) -> None:
        self._aws, self._region, self._daemons = aws, region, daemons
        self._deploy = f"npx cdk deploy {aws.deployment}-region-{region}"

    def looked_at(self) -> Findings:
        """Look at everything that the stack of a region must have made."""
        yield from looked("documents", self._region, self._documents)
        for architecture, daemon in self._daemons.items():
            about = f"{self._region} {architecture}"
            yield from looked("image", about, partial(self._image, about, architecture))
            yield from looked("daemon", about, partial(self._daemon, about, daemon.uri))

    def _documents(self) -> Findings:
        describe = self._aws.client("ssm", self._region).describe_document
        names = [f"{self._aws.deployment}-{document}" for document in _DOCUMENTS]
        missing = [name for name in names if answer_of(describe, "InvalidDocument", Name=name) is None]
        if missing:
            yield failed("documents", self._region, f"missing: {', '.join(missing)}", f"{self._deploy} --force")
        else:
            yield ok("documents", self._region, f"all {len(names)} are there")

    def _image(self, about: str, architecture: str) -> Findings:
        suffix = "" if architecture == "x86_64" else f"-{architecture}"
        name = f"{self._aws.deployment}-relay{suffix}"
        ec2 = self._aws.client("ec2", self._region)
        call = ec2.describe_launch_template_versions
        found = answer_of(call, "InvalidLaunchTemplate", LaunchTemplateName=name, Versions=["$Latest"])
        if found is None:
            yield failed("image", about, f"launch template {name} is missing", f"{self._deploy} --force")
            return
        reference = str(found["LaunchTemplateVersions"][0]["LaunchTemplateData"]["ImageId"])
        image = self._resolved(reference)
        if image is None:
            missing = f"launch template {name} names the parameter {reference.removeprefix(_ALIAS)}, which is missing"
            yield failed("image", about, missing, f"{self._deploy} --force")
            return
        images = (answer_of(ec2.describe_images, "InvalidAMIID", ImageIds=[image]) or {}).get("Images")
        state = images[0]["State"] if images else "gone"
        if state == "available":
            yield ok("image", about, f"{image}, by launch template {name}")
        else:
            remedy = f"{self._deploy} --force; if it is an image of your own, start its pipeline, which makes another"
            yield failed("image", about, f"{image}, by launch template {name}, is {state}", remedy)

    def _resolved(self, reference: str) -> str | None:
        if not reference.startswith(_ALIAS):
            return reference
        call = self._aws.client("ssm", self._region).get_parameter
        found = answer_of(call, "ParameterNotFound", Name=reference.removeprefix(_ALIAS))
        return None if found is None else str(found["Parameter"]["Value"])

    def _daemon(self, about: str, uri: str) -> Findings:
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        if answer_of(self._aws.client("s3", self._region).head_object, "404", "NoSuch", Bucket=bucket, Key=key):
            yield ok("daemon", about, uri)
        else:
            remedy = f"{self._deploy} --force; where the bucket itself is gone, npx cdk bootstrap before"
            yield failed("daemon", about, f"{uri} is missing", remedy)
