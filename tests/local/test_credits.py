"""Network credits and other traffic: what a VM moves by its caps, by real bytes through the kernel's buckets."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from local.caps import Caps
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import finished
from tests.local.test_netns import SERVE, addresses, allow

BASELINE, BURST, CREDIT = 10.0, 80.0, 120.0
CAPS = {"interRegionMBps": 200, "intraRegionMBps": BASELINE, "burstMBps": BURST, "creditMB": CREDIT}
SHARED = {"interRegionMBps": 20, "intraRegionMBps": 15, "burstMBps": 60, "creditMB": 90}
# Seconds that each tenth of the bytes took, as the receiver's acknowledgements tell the sender.
SEND = """python3 -c '
import socket, sys, time
peer = socket.socket()
peer.settimeout(20)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1448)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
peer.connect((sys.argv[1], 4600))
began = time.monotonic()
for megabyte in range(1, int(sys.argv[2]) + 1):
    peer.sendall(bytes(1_000_000))
    if megabyte % (int(sys.argv[2]) // 10) == 0:
        print(time.monotonic() - began)
' """


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, assembly_path: Any) -> Iterator[LocalCloud]:
    if not namespaces_available():
        pytest.skip("namespaces need root, iproute2 and nftables")
    changing = {"interRegionMBps": 40, "intraRegionMBps": 200, "changes": [{"afterSeconds": 6, "factor": 0.25}]}
    settings = {
        "port": 0,
        "instances": "netns",
        "bootSeconds": 0.05,
        "ssmRegistrationSeconds": 0,
        "caps": {"byType": {"t3.small": CAPS, "m5.large": changing, "t3.large": SHARED}},
    }
    with LocalCloud(LocalConfig.model_validate(settings), tmp_path_factory.mktemp("state"), assembly_path) as running:
        yield running


def run(network: LocalCloud, instance_id: str, region: str, script: str) -> str:
    """What a script prints on a VM."""
    command = network.client("ssm", region).send_command(
        InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
    )["Command"]["CommandId"]
    return str(finished(network, command, instance_id, region)["StandardOutputContent"])


def sink(network: LocalCloud, source: str, region: str) -> str:
    """Address of a VM without caps that takes what `source` sends: its public one in the other region."""
    found = network.launch_vm(region, f"to-{source}", "c5.large")
    public = int(region != HOME)
    allow(network, region, f"{addresses(network, source, HOME)[public]}/32")
    run(network, found, region, SERVE)
    return addresses(network, found, region)[public]


def rates(network: LocalCloud, kind: str, size_mb: int) -> list[float]:
    """MB/s of each tenth of `size_mb` from a VM of a type to one without caps in the other region."""
    source = network.launch_vm(HOME, f"from-{kind}", kind)
    at = [0.0, *map(float, run(network, source, HOME, f"{SEND} {sink(network, source, OTHER)} {size_mb}").split())]
    return [size_mb / 10 / (after - before) for before, after in itertools.pairwise(at)]


@pytest.mark.alone
def test_a_vm_bursts_for_its_credit_and_then_keeps_its_baseline(network: LocalCloud) -> None:
    found = rates(network, "t3.small", 200)
    # 120 MB of credit, and what the baseline adds meanwhile: 120 / (80 - 10) s at 80 MB/s are 137 of the 200 MB.
    assert found[1:6] == [pytest.approx(BURST, rel=0.15)] * 5
    assert found[-2:] == [pytest.approx(BASELINE, rel=0.1)] * 2
    assert 120 <= sum(20 for rate in found if rate > BURST / 2) <= 160


@pytest.mark.alone
def test_other_traffic_takes_a_share_of_the_cap_from_its_time_on(network: LocalCloud) -> None:
    found = rates(network, "m5.large", 300)
    assert max(found[1:]) == pytest.approx(40, rel=0.15)
    assert found[-1] == pytest.approx(10, rel=0.15)


@pytest.mark.alone
def test_when_the_credit_is_used_up_all_that_a_vm_sends_falls_alike(network: LocalCloud) -> None:
    source = network.launch_vm(HOME, "from-both", "t3.large")
    near, far = sink(network, source, HOME), sink(network, source, OTHER)
    both = f"({SEND} {near} 200 > near.txt) & ({SEND} {far} 100 > far.txt) & wait; cat near.txt far.txt"
    at = [*map(float, run(network, source, HOME, both).split())]
    found = [
        [size / 10 / (after - before) for before, after in itertools.pairwise([0.0, *times])]
        for size, times in ((200, at[:10]), (100, at[10:]))
    ]
    # 40 and 20 MB/s while 90 MB of credit last, 90 / (60 - 15) = 2 s; then a quarter of each.
    for each, burst in zip(found, (40, 20), strict=True):
        assert max(each[1:]) == pytest.approx(burst, rel=0.15)
        assert each[-2] == pytest.approx(burst / 4, rel=0.2)


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        ({"burstMBps": 80}, "burstMBps and creditMB come together"),
        ({"intraRegionMBps": 80, "burstMBps": 40, "creditMB": 10}, "with intraRegionMBps below burstMBps"),
        ({"intraRegionMBps": 1, "burstMBps": 40, "creditMB": 271}, "creditMB: 271; at most 270"),
    ],
)
def test_credits_that_no_bucket_can_hold_are_refused(caps: dict[str, float], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Caps.model_validate(caps)


def test_processes_have_no_buckets() -> None:
    with pytest.raises(ValidationError, match="need instances = netns"):
        LocalConfig.model_validate({"caps": {"byType": {"t3.small": CAPS}}})
