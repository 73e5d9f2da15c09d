"""Of Image Builder, which the local cloud does not have, the calls by their shapes; of images and snapshots, e2e."""

from typing import Any

import boto3
from botocore.stub import Stubber

from cli.aws import Aws
from cli.leave.images import image_ties
from cli.leave.stacks import Resource, Stack

ACCOUNT = "arn:aws:imagebuilder:us-west-2:123456789012"
PIPELINE, IMAGE = f"{ACCOUNT}:image-pipeline/cpt-relay-x86-64", f"{ACCOUNT}:image/cpt-relay-x86-64/1.0.7/1"


class Stubbed(Aws):
    """An account in which one image was built."""

    def client(self, service: str, region: str | None = None, config: Any = None) -> Any:
        make: Any = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b").client
        made = make(service, region_name=region)
        stubber = Stubber(made)
        if service == "imagebuilder":
            found = {"imageSummaryList": [{"arn": IMAGE}]}
            stubber.add_response("list_image_pipeline_images", found, {"imagePipelineArn": PIPELINE})
            stubber.add_response("delete_image", {}, {"imageBuildVersionArn": IMAGE})
        if service == "ec2":
            stubber.add_response("describe_images", {"Images": []})
        if service == "ssm":
            stubber.add_response("get_parameters_by_path", {"Parameters": []}, {"Path": "/imagebuilder/cpt/"})
        stubber.activate()
        return made


def test_records_of_built_images_hold_the_recipe_and_are_deleted_by_name() -> None:
    pipeline = Resource("us-west-2", "AWS::ImageBuilder::ImagePipeline", "Pipeline", PIPELINE, kept=False)
    stack = Stack("us-west-2", "cpt-region-us-west-2", {}, (pipeline,))
    (tie,) = image_ties(Stubbed("us-west-2"), "us-west-2", [stack])
    assert (tie.status, tie.about) == ("holds", IMAGE)
    assert tie.undo is not None
    tie.undo()
