"""A local cloud leaves nothing behind, however it ends."""

import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from local.caps import LaunchCaps
from local.cloud import LocalCloud, LocalCloudError, down, namespaces_available, status
from local.config import ConfigError, LocalConfig, load_config
from local.instances.process import marked
from local.state import namespaces
from tests.local.assembly import HOME

needs_namespaces = pytest.param(
    "netns", marks=pytest.mark.skipif(not namespaces_available(), reason="namespaces need root, iproute2 and nftables")
)
QUICK = {"port": 0, "bootSeconds": 0.05, "ssmRegistrationSeconds": 0}


def start(state: Path, mode: str = "process", **settings: object) -> LocalCloud:
    cloud = LocalCloud(LocalConfig.model_validate({**QUICK, "instances": mode, **settings}), state, None)
    cloud.start()
    return cloud


def leftovers(cloud: LocalCloud) -> list[object]:
    state = cloud.state
    found: list[object] = [*state.processes(), *namespaces(state.network_prefix)]
    return found + [path for path in state.root.rglob("*") if path.name not in ("logs", "emulator.log", "instances")]


@pytest.mark.parametrize("mode", ["process", needs_namespaces])
def test_stop_leaves_no_process_namespace_or_file(tmp_path: Path, mode: str) -> None:
    cloud = start(tmp_path / "state with space", mode)
    vm = cloud.launch_vm(HOME, "a")
    assert status(tmp_path / "state with space")["running"] is True
    cloud.stop()
    assert leftovers(cloud) == []
    assert marked(vm) == []
    assert status(tmp_path / "state with space") == {"running": False}


@pytest.mark.parametrize("mode", ["process", needs_namespaces])
def test_down_cleans_up_after_the_emulator_was_killed(tmp_path: Path, mode: str) -> None:
    cloud = start(tmp_path, mode)
    vm = cloud.launch_vm(HOME, "a")
    command = cloud.client("ssm").send_command(
        InstanceIds=[vm], DocumentName="AWS-RunShellScript", Parameters={"commands": ["systemd-run --unit=a sleep 321"]}
    )["Command"]["CommandId"]
    client = cloud.client("ssm")
    cloud.wait_for(lambda: client.get_command_invocation(CommandId=command, InstanceId=vm)["Status"] == "Success", 10)
    os.kill(int(str(cloud.state.read()["pid"])), signal.SIGKILL)  # type: ignore[index]
    cloud.wait_for(lambda: status(tmp_path)["running"] is False, 5)
    assert marked(vm)
    down(tmp_path)
    assert leftovers(cloud) == []


@pytest.mark.parametrize("mode", ["process", needs_namespaces])
def test_instances_start_with_the_files_of_their_image(tmp_path: Path, mode: str) -> None:
    tool = tmp_path / "image" / "cpt" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("baked in")
    cloud = start(tmp_path / "state", mode, image=tmp_path / "image")
    try:
        home = cloud.state.instances / cloud.launch_vm(HOME, "a")
        assert (home / "cpt" / "bin" / "tool").read_text() == "baked in"
    finally:
        cloud.stop()
    assert tool.exists()


def test_second_start_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    cloud = start(tmp_path)
    try:
        with pytest.raises(LocalCloudError, match=r"runs in .* already"):
            start(tmp_path)
        assert LocalCloud.attach(tmp_path).endpoint == cloud.endpoint
    finally:
        cloud.stop()
    with pytest.raises(LocalCloudError, match="no local cloud runs"):
        LocalCloud.attach(tmp_path)


def test_taken_port_is_named_with_its_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cloud = LocalCloud(LocalConfig(port=port), tmp_path, None)
        with pytest.raises(LocalCloudError, match=rf"port {port} on 127.0.0.1 is in use.*set port = 0"):
            cloud.start()
    assert leftovers(cloud) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="the hint is for root; others are refused before")
def test_missing_network_tools_are_named_with_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not namespaces_available()
    with pytest.raises(LocalCloudError, match=r"nft.* not found: install iproute2, nftables"):
        start(tmp_path, "netns")


def test_endpoint_listens_on_loopback_only(cloud: LocalCloud) -> None:
    port = int(str(cloud.state.read()["port"]))  # type: ignore[index]
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [f"0100007F:{port:04X}"]


def test_two_clouds_on_one_machine_use_different_addresses(tmp_path: Path, cloud: LocalCloud, vm: str) -> None:
    other = start(tmp_path)
    try:
        second = other.launch_vm(HOME, "a")
        addresses = [
            item.client("ec2").describe_instances(Filters=[{"Name": "instance-id", "Values": [instance]}])[
                "Reservations"
            ][0]["Instances"][0]["PrivateIpAddress"]
            for item, instance in ((cloud, vm), (other, second))
        ]
    finally:
        other.stop()
    assert len({address.rsplit(".", 1)[0] for address in addresses}) == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prot = 1", "prot = 1: no such key; docs/local-cloud.md lists them"),
        ('instances = "docker"', "instances = 'docker'.*'process' or 'netns'"),
        ("[caps]\ninterRegionMBps = -1", "caps.interRegionMBps = -1.*greater than 0"),
        ("[[faults]]\ncount = 1", "faults.0.region"),
        ('image = "/nowhere"', "image = '/nowhere'.*not point to a directory"),
        ("port =", "not TOML"),
    ],
)
def test_bad_configuration_names_key_value_and_remedy(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "local.toml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        load_config(tmp_path / "local.toml")


@pytest.mark.parametrize(
    ("rule", "factors"),
    [
        ({"factor": 0.5}, [0.5, 0.5, 0.5, 0.5]),
        ({"every": 2, "factor": 0.5}, [1, 0.5, 1, 0.5]),
        ({"factor": [0.5, 0.75, 1]}, [0.5, 0.75, 1, 0.5]),
        ({"every": 2, "factor": [0.5, 0.75]}, [1, 0.5, 1, 0.75]),
    ],
)
def test_counted_launches_have_their_caps_scaled(rule: dict[str, Any], factors: list[float]) -> None:
    launches = LaunchCaps.model_validate(rule)
    assert [launches.factor_of(count) for count in range(1, 5)] == factors


def test_configuration_survives_the_round_trip_to_the_emulator() -> None:
    given = {"caps": {"interRegionMBps": 20.0, "launches": [{"tag": "a", "every": 2, "factor": 0.5}]}}
    config = LocalConfig.model_validate(given)
    assert LocalConfig.model_validate(json.loads(config.model_dump_json(by_alias=True))) == config
