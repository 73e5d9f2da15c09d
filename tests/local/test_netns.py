"""Namespaces: the network contract and the caps are the kernel's."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from local.endpoints import GROUP
from local.hadoop.group import joined
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import finished

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not namespaces_available(), reason="namespaces need root, iproute2 and nftables"),
]

SETTINGS = {
    "port": 0,
    "instances": "netns",
    "bootSeconds": 0.05,
    "ssmRegistrationSeconds": 0,
    "caps": {"interRegionMBps": 10, "intraRegionMBps": 80},
}
SERVE = """systemd-run --unit=sink python3 -c '
import socket, threading
def take(connection, peer):
    size = 0
    while piece := connection.recv(1 << 20):
        size += len(piece)
    connection.sendall(f"{peer[0]} {size}".encode())
    connection.close()
server = socket.create_server(("0.0.0.0", 4600))
while True:
    threading.Thread(target=take, args=server.accept()).start()
'
until ss --no-header --listening --tcp --numeric "sport = :4600" | grep --quiet .; do sleep 0.05; done"""
SEND = """python3 -c '
import socket, sys, time
began = time.monotonic()
try:
    peer = socket.socket()
    peer.settimeout(1)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, int(sys.argv[3]))
    peer.connect((sys.argv[1], 4600))
except OSError as error:
    print(type(error).__name__, error.errno, "-", 0)
    sys.exit()
for _ in range(int(sys.argv[2])):
    peer.sendall(bytes(1_000_000))
peer.shutdown(1)
seen, size = peer.recv(99).decode().split()
print("ok", seen, size, int(size) / 1e6 / (time.monotonic() - began))
' """
SEGMENT_BYTES = 1448


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, assembly_path: Any) -> Iterator[LocalCloud]:
    settings = LocalConfig.model_validate(SETTINGS)
    with LocalCloud(settings, tmp_path_factory.mktemp("state with space"), assembly_path) as running:
        yield running


@pytest.fixture(scope="module")
def vms(network: LocalCloud) -> list[str]:
    """Source and neighbour in the home region, destination in the other."""
    return [network.launch_vm(HOME, "a"), network.launch_vm(HOME, "b"), network.launch_vm(OTHER, "c")]


@pytest.fixture(scope="module")
def sh(network: LocalCloud) -> Callable[..., str]:
    def run(instance_id: str, script: str, region: str = HOME) -> str:
        answer = network.client("ssm", region).send_command(
            InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
        )
        done = finished(network, answer["Command"]["CommandId"], instance_id, region)
        return str(done["StandardOutputContent"] + done["StandardErrorContent"])

    return run


def addresses(network: LocalCloud, instance_id: str, region: str) -> tuple[str, str]:
    found = network.client("ec2", region).describe_instances(InstanceIds=[instance_id])["Reservations"][0]
    return found["Instances"][0]["PrivateIpAddress"], found["Instances"][0]["PublicIpAddress"]


def allow(network: LocalCloud, region: str, cidr: str, *, revoke: bool = False) -> None:
    ec2 = network.client("ec2", region)
    named = [{"Name": "group-name", "Values": [GROUP]}]
    group = ec2.describe_security_groups(Filters=named)["SecurityGroups"][0]["GroupId"]
    rule = {"IpProtocol": "tcp", "FromPort": 4600, "ToPort": 4600, "IpRanges": [{"CidrIp": cidr}]}
    act = ec2.revoke_security_group_ingress if revoke else ec2.authorize_security_group_ingress
    act(GroupId=group, IpPermissions=[rule])


def test_no_rule_no_connection_and_caps_hold_to_other_regions(
    network: LocalCloud, vms: list[str], sh: Callable[..., str]
) -> None:
    source, _, destination = vms
    sh(destination, SERVE, OTHER)
    _, public = addresses(network, destination, OTHER)
    own = addresses(network, source, HOME)[1]
    assert sh(source, SEND + f"{public} 1 {SEGMENT_BYTES}").startswith("TimeoutError")
    allow(network, OTHER, f"{own}/32")
    status, seen, size, rate = sh(source, SEND + f"{public} 20 {SEGMENT_BYTES}").split()
    assert (status, seen, size) == ("ok", own, "20000000")
    assert 8.5 < float(rate) < 10.5
    # As the machines' own MTU of 9 001 would have it.
    assert sh(source, SEND + f"{public} 1 8961").startswith("TimeoutError")
    allow(network, OTHER, f"{own}/32", revoke=True)
    assert sh(source, SEND + f"{public} 1 {SEGMENT_BYTES}").startswith("TimeoutError")


def test_inside_the_region_private_addresses_have_the_inner_cap(
    network: LocalCloud, vms: list[str], sh: Callable[..., str]
) -> None:
    source, neighbour, _ = vms
    sh(neighbour, SERVE)
    private, _ = addresses(network, neighbour, HOME)
    own = addresses(network, source, HOME)[0]
    allow(network, HOME, f"{own}/32")
    status, seen, _, rate = sh(source, SEND + f"{private} 80 {SEGMENT_BYTES}").split()
    assert (status, seen) == ("ok", own)
    assert 68 < float(rate) < 84
    allow(network, HOME, f"{own}/32", revoke=True)


def test_a_group_that_admits_itself_admits_who_carries_it_at_the_moment(
    network: LocalCloud, vms: list[str], sh: Callable[..., str]
) -> None:
    source, neighbour, _ = vms
    sh(neighbour, SERVE)
    private, _ = addresses(network, neighbour, HOME)
    ec2 = network.client("ec2", HOME)
    with joined(ec2, "one", [neighbour]) as group:
        assert sh(source, SEND + f"{private} 1 {SEGMENT_BYTES}").startswith("TimeoutError")
        interface = next(
            one
            for one in ec2.describe_network_interfaces()["NetworkInterfaces"]
            if one["Attachment"]["InstanceId"] == source
        )
        before = [one["GroupId"] for one in interface["Groups"]]
        change = partial(ec2.modify_network_interface_attribute, NetworkInterfaceId=interface["NetworkInterfaceId"])
        change(Groups=[*before, group])
        assert sh(source, SEND + f"{private} 1 {SEGMENT_BYTES}").startswith("ok")
        change(Groups=before)
        assert sh(source, SEND + f"{private} 1 {SEGMENT_BYTES}").startswith("TimeoutError")


def test_private_addresses_of_another_region_have_no_route(
    network: LocalCloud, vms: list[str], sh: Callable[..., str]
) -> None:
    private, _ = addresses(network, vms[2], OTHER)
    assert sh(vms[0], SEND + f"{private} 1 {SEGMENT_BYTES}").startswith("OSError 101")


def test_instance_has_the_real_metadata_address_and_the_endpoint(
    network: LocalCloud, vms: list[str], sh: Callable[..., str]
) -> None:
    script = """
token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
curl -s -H "X-aws-ec2-metadata-token: $token" http://169.254.169.254/latest/meta-data/instance-id; echo
aws sts get-caller-identity --region us-west-2 --query Arn --output text
"""
    identity = sh(vms[0], script).splitlines()
    assert identity[0] == vms[0]
    assert identity[1].endswith(f"/{vms[0]}")
