"""Caps by pair of regions: four regions, a machine in each, real bytes; each direction has a cap of its own."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from local.caps import PairCap
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from local.endpoints import ControlError
from tests.local import assembly
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import finished
from tests.local.test_netns import SERVE, addresses, allow

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not namespaces_available(), reason="namespaces need root, iproute2 and nftables"),
]

A, B, C, D = REGIONS = HOME, OTHER, "us-east-1", "ap-northeast-1"
WHOLE = 40.0
TO_B, BACK, TO_C = 20.0, 4.0, 10.0
FALLS_AFTER, FALLEN = 3.0, 8.0
SETTINGS = {
    "port": 0,
    "instances": "netns",
    "regions": REGIONS,
    "bootSeconds": 0.05,
    "ssmRegistrationSeconds": 0,
    "caps": {
        "interRegionMBps": WHOLE,
        "intraRegionMBps": 200,
        "between": {
            f"{A}>{B}": {"MBps": TO_B, "changes": [{"afterSeconds": FALLS_AFTER, "MBps": FALLEN}]},
            f"{B}>{A}": {"MBps": BACK},
            f"{A}>{C}": {"MBps": TO_C},
        },
    },
}
# Sends for some seconds; prints when it began, when each half megabyte had been handed over, and when all had arrived.
SEND = """python3 -c '
import socket, sys, time
peer = socket.socket()
peer.settimeout(20)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1448)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
peer.connect((sys.argv[1], 4600))
began = time.time()
print(began)
while time.time() < began + float(sys.argv[2]):
    peer.sendall(bytes(500_000))
    print(time.time())
peer.shutdown(1)
peer.recv(99)
print(time.time())
' """
PIECE_MB = 0.5
PAYLOAD = 1436 / 1502  # of a segment on the wire, which is what the caps count


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    made = assembly.write(tmp_path_factory.mktemp("assembly") / "cdk.out", (C, D))
    with LocalCloud(LocalConfig.model_validate(SETTINGS), tmp_path_factory.mktemp("state"), made) as running:
        for region in REGIONS:
            allow(running, region, "0.0.0.0/0")
        yield running


@pytest.fixture(scope="module")
def vms(network: LocalCloud) -> dict[str, str]:
    """A machine in each region that takes whatever comes."""
    return {region: launch(network, region, f"vm-{region}") for region in REGIONS}


def launch(network: LocalCloud, region: str, name: str) -> str:
    found = network.launch_vm(region, name)
    finished(network, begin(network, region, found, SERVE), found, region)
    return found


def begin(network: LocalCloud, region: str, instance_id: str, script: str) -> str:
    command = network.client("ssm", region).send_command(
        InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
    )
    return str(command["Command"]["CommandId"])


def times(network: LocalCloud, seconds: float, *flows: tuple[tuple[str, str], tuple[str, str]]) -> list[list[float]]:
    """What `SEND` prints for each flow, all at once; a flow's ends are region and machine."""
    begun = []
    for (region, source), (there, destination) in flows:
        address = addresses(network, destination, there)[1]
        begun.append((begin(network, region, source, f"{SEND} {address} {seconds}"), source, region))
    done = [finished(network, *each) for each in begun]
    return [list(map(float, one["StandardOutputContent"].split())) for one in done]


def rate(at: list[float]) -> float:
    """MB/s of all that was sent until it had arrived."""
    return (len(at) - 2) * PIECE_MB / (at[-1] - at[0])


def rate_in(at: list[float], begin: float, end: float) -> float:
    """MB/s that was handed over between two moments."""
    inside = [moment for moment in at[:-1] if begin <= moment <= end]
    return (len(inside) - 1) * PIECE_MB / (inside[-1] - inside[0])


def near(mb_s: float) -> Any:
    return pytest.approx(mb_s * PAYLOAD, rel=0.1)


def test_each_direction_of_each_pair_holds_its_own_cap_while_all_are_full(
    network: LocalCloud, vms: dict[str, str]
) -> None:
    a, b, c, d = vms.items()
    network.begin_changes({pair: PairCap(mb_s=cap.mb_s) for pair, cap in network.config.caps.between.items()})
    found = [rate(at) for at in times(network, 2, (a, b), (b, a), (a, c), (c, a), (b, d))]
    # The last two have no cap of their own: they have what the others leave of what a machine receives, or sends.
    assert found == [near(TO_B), near(BACK), near(TO_C), near(WHOLE - BACK), near(WHOLE - BACK)]


def test_all_pairs_of_a_machine_share_its_own_cap(network: LocalCloud, vms: dict[str, str]) -> None:
    a, b, c, d = vms.items()
    network.begin_changes({pair: PairCap(mb_s=WHOLE / 2) for pair in network.config.caps.between})
    found = [rate(at) for at in times(network, 2, (a, b), (a, c), (a, d))]
    assert sum(found) == near(WHOLE)
    assert max(found) < 1.1 * WHOLE / 2


def test_caps_change_in_a_transfer_at_their_time_and_hold_for_machines_launched_later(
    network: LocalCloud, vms: dict[str, str]
) -> None:
    a, b, c, _ = vms.items()
    network.begin_changes()
    falls_at = time.time() + FALLS_AFTER
    to_b, to_c = times(network, 2 * FALLS_AFTER, (a, b), (a, c))
    # The first two megabytes only fill the sender's buffer, which is full when the cap falls.
    assert rate_in(to_b, to_b[0] + 0.5, falls_at - 0.2) == near(TO_B)
    assert rate_in(to_b, falls_at + 0.5, to_b[-1]) == near(FALLEN)
    assert rate(to_c) == near(TO_C)
    late = [(region, launch(network, region, f"late-{region}")) for region in (A, B)]
    assert rate(times(network, 2, (late[0], late[1]))[0]) == near(FALLEN)
    network.begin_changes()
    assert rate(times(network, 1, (late[0], late[1]))[0]) == near(TO_B)


def test_caps_of_other_pairs_than_the_clouds_are_refused_by_name(network: LocalCloud) -> None:
    with pytest.raises(ControlError, match=f"between: {C}>{D}; .* configuration are {B}>{A}, {A}>{B}, {A}>{C}"):
        network.begin_changes({f"{C}>{D}": PairCap(mb_s=1)})
