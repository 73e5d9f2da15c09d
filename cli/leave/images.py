"""Images of relays that pipelines have built: no stack knows of them."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from cli.aws import Aws
from cli.leave.stacks import Stack, of_kind
from cli.leave.tie import Tie, Ties
from cli.leave.transfers import DEPLOYMENT_TAG


def image_ties(aws: Aws, region: str, stacks: Iterable[Stack]) -> Ties:
    """Image Builder's records, images with their snapshots, and parameters that name them."""
    for pipeline in of_kind(stacks, "AWS::ImageBuilder::ImagePipeline"):
        if pipeline.region == region:
            yield from _records(aws.client("imagebuilder", region), region, pipeline.physical_id)
    ec2, ssm = aws.client("ec2", region), aws.client("ssm", region)
    filters = [{"Name": f"tag:{DEPLOYMENT_TAG}", "Values": [aws.deployment]}]
    images = ec2.get_paginator("describe_images").paginate(Owners=["self"], Filters=filters)
    for image in (one for page in images for one in page["Images"]):
        disks = [disk.get("Ebs", {}) for disk in image.get("BlockDeviceMappings", [])]
        snapshots = [str(disk["SnapshotId"]) for disk in disks if "SnapshotId" in disk]
        message = f"an image of relays, with the snapshots {', '.join(snapshots) or '(none)'}"
        undo = partial(_deregister, ec2, str(image["ImageId"]), snapshots)
        yield Tie("left", region, image["ImageId"], message, "it is deregistered, its snapshots are deleted", undo)
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=f"/imagebuilder/{aws.deployment}/")
    for name in (str(parameter["Name"]) for page in pages for parameter in page["Parameters"]):
        undo = partial(ssm.delete_parameter, Name=name)
        yield Tie("left", region, name, "a parameter that names an image of relays", "it is deleted", undo)


def _records(client: Any, region: str, pipeline: str) -> Ties:
    """A recipe is not deleted while there are records of images that were built by it."""
    for page in client.get_paginator("list_image_pipeline_images").paginate(imagePipelineArn=pipeline):
        for arn in (str(image["arn"]) for image in page["imageSummaryList"]):
            undo = partial(client.delete_image, imageBuildVersionArn=arn)
            message = "Image Builder keeps a record of this image, which its recipe depends on"
            yield Tie("holds", region, arn, message, "the record is deleted", undo)


def _deregister(ec2: Any, image: str, snapshots: list[str]) -> None:
    ec2.deregister_image(ImageId=image)
    for snapshot in snapshots:
        ec2.delete_snapshot(SnapshotId=snapshot)
