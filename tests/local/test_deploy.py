"""The synthesized templates deploy as they are."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import LocalCloud, LocalCloudError
from local.config import LocalConfig
from local.deploy import DeployError, stacks_of
from local.patches.functions import assets
from tests.local.assembly import HOME, OTHER

ASSEMBLY = Path(__file__).parents[2] / "cdk.out"
DOCUMENTS = {"cpt-scan", "cpt-delete", "cpt-receive", "cpt-send", "cpt-relay", "cpt-probe", "cpt-log", "cpt-stop"}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(LocalConfig(port=0), tmp_path_factory.mktemp("deployed"), ASSEMBLY) as running:
        yield running


def test_every_stack_is_complete_in_its_region(deployed: LocalCloud) -> None:
    for stack in stacks_of(ASSEMBLY, HOME):
        client = deployed.client("cloudformation", stack.region)
        assert client.describe_stacks(StackName=stack.name)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
        kinds = {resource["Type"] for resource in stack.template["Resources"].values()}
        made = client.describe_stack_resources(StackName=stack.name)["StackResources"]
        assert {item["ResourceType"] for item in made} == kinds


def test_documents_and_launch_template_exist_in_every_region(deployed: LocalCloud) -> None:
    for region in (HOME, OTHER):
        names = {item["Name"] for item in deployed.client("ssm", region).list_documents()["DocumentIdentifiers"]}
        assert names == DOCUMENTS
        templates = deployed.client("ec2", region).describe_launch_templates(LaunchTemplateNames=["cpt-relay"])
        assert len(templates["LaunchTemplates"]) == 1


def test_end_machine_has_the_deployments_group_and_role(deployed: LocalCloud) -> None:
    vm = deployed.launch_vm(OTHER, "destination")
    found = deployed.client("ec2", OTHER).describe_instances(InstanceIds=[vm])["Reservations"][0]["Instances"][0]
    assert [group["GroupName"] for group in found["SecurityGroups"]] == ["cpt-endpoint"]
    assert found["IamInstanceProfile"]["Arn"].endswith(":instance-profile/cpt-endpoint")
    assert found["PublicIpAddress"]


def test_functions_share_one_asset_in_memory_and_on_disk_but_for_the_one_that_seals(deployed: LocalCloud) -> None:
    functions = deployed.client("lambda").list_functions()["Functions"]
    assert len(functions) >= 16
    digests = {function["FunctionName"]: function["CodeSha256"] for function in functions}
    assert digests.pop("cpt-issue-credentials") not in digests.values()
    (digest,) = set(digests.values())
    assert (assets.FOLDER / b64decode(digest).hex()[:24]).is_dir()
    assert {path.name for path in deployed.state.lambda_code.glob("*")} <= {"substitutes"}


def test_missing_assembly_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="run `make synth`"):
        stacks_of(tmp_path, HOME)


def test_a_stack_of_a_region_that_the_cloud_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    cloud = LocalCloud(LocalConfig(port=0, regions=[HOME]), tmp_path / "state", ASSEMBLY)
    with pytest.raises(LocalCloudError, match=f"regions = .'{HOME}'.: cpt-region-{OTHER} goes to {OTHER}; write"):
        cloud.start()
