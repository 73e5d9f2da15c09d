"""Hadoop on instances, which see each other by their security group alone where there is a firewall."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from local.hadoop.instances import on_instances
from local.hadoop.runtime import Runtime
from local.instances.process import marked
from tests.chaos.extent import only_full
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import finished

pytestmark = only_full

SETTINGS = {"port": 0, "bootSeconds": 0.05, "ssmRegistrationSeconds": 0}
# Each block goes from the client to one data node, and from there to the other.
PUT = """head -c 300000 /dev/zero >there
hdfs dfs -put there /file && hdfs dfs -cat /file | cmp - there && echo same"""
SEEN_BY_A_UNIT = """systemd-run --quiet --unit=asks sh -c 'cd "$TMPDIR"; ls "$HADOOP_CONF_DIR" >new; mv new seen'
until [ -e seen ]; do sleep 0.05; done
cat seen"""


@pytest.fixture(params=["process", "netns"])
def cloud(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, hadoop: Runtime
) -> Iterator[LocalCloud]:
    if request.param == "netns" and not namespaces_available():
        pytest.skip("namespaces need root, iproute2 and nftables")
    settings = LocalConfig.model_validate({**SETTINGS, "instances": request.param})
    with LocalCloud(settings, tmp_path_factory.mktemp("state with space"), None) as running:
        yield running


def sh(cloud: LocalCloud, instance_id: str, region: str, script: str) -> str:
    answer = cloud.client("ssm", region).send_command(
        InstanceIds=[instance_id],
        DocumentName="AWS-RunShellScript",
        Parameters={"commands": [f'cd "$TMPDIR"\n{script}']},
    )
    done = finished(cloud, answer["Command"]["CommandId"], instance_id, region)
    return str(done["StandardOutputContent"] + done["StandardErrorContent"])


def test_workers_use_the_cluster_of_their_region_and_nobody_else_does(cloud: LocalCloud, hadoop: Runtime) -> None:
    is_apart = cloud.config.instances == "netns"
    regions = [HOME, OTHER]
    vms = {region: [cloud.launch_vm(region, str(number), wait=False) for number in range(4)] for region in regions}
    with ExitStack() as stack:
        for region, (stranger, name_node, *workers) in vms.items():
            for instance_id in vms[region]:
                cloud.wait_online(region, instance_id)
            cluster = stack.enter_context(on_instances(hadoop, cloud, region, name_node, workers))
            assert sh(cloud, workers[0], region, PUT) == "same\n"
            assert sh(cloud, workers[1], region, SEEN_BY_A_UNIT).split()[:2] == ["core-site.xml", "hdfs-site.xml"]
            assert cluster.name_node.pid in marked(name_node)
            assert all(node.pid in marked(worker) for node, worker in zip(cluster.data_nodes, workers, strict=True))
            host, port = cluster.address.split(":")
            knock = f"timeout 1 bash -c 'exec 3<>/dev/tcp/{host}/{port}' && echo open"
            assert ("open" in sh(cloud, stranger, region, knock)) == (not is_apart)
    for region in regions:
        named = [{"Name": "group-name", "Values": ["hadoop-*"]}]
        assert cloud.client("ec2", region).describe_security_groups(Filters=named)["SecurityGroups"] == []
        assert [pid for instance_id in vms[region] for pid in marked(instance_id)] == []
