"""The units that the SSM documents start: each property is one that systemd takes, and the daemon lives with them."""

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The roles by hand are the daemon's own: they make the same system calls.
PROGRAM = ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"

pytestmark = pytest.mark.skipif(
    not (shutil.which("systemd-analyze") and shutil.which("strace")), reason="needs systemd-analyze and strace"
)


ALL_KEPT = '{"preserve":{"owners":"names","xattrs":true,"acls":true,"specialFiles":true}}'


def properties(role: str, command: str = "{}") -> list[str]:
    scripts = " ".join(f'. "{ROOT}/infra/ssm-documents/{name}.sh";' for name in ("kept", "properties"))
    folders = "run=/opt/cpt/run/t; private=/run/cpt/t;"
    call = f'{folders} {scripts} unit_properties {role} \'"/data/with \\"quotes\\" and space"\' "$0"'
    return subprocess.run(["sh", "-euc", call, command], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("role", "command"), [("send", "{}"), ("receive", "{}"), ("receive", ALL_KEPT), ("relay", "{}")]
)
def test_systemd_knows_every_property_and_value(tmp_path: Path, role: str, command: str) -> None:
    unit = tmp_path / f"cpt-{role}-t.service"
    unit.write_text("\n".join(["[Service]", "ExecStart=/bin/true", *properties(role, command), ""]))
    said = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    complaints = [line for line in said.stderr.splitlines() if unit.name in line]
    assert (complaints, said.returncode) == ([], 0)


@pytest.mark.parametrize(
    ("setting", "known"),
    [("CPUWeight=1", True), ("CPUWeight=10000", True), ("IOWeight=1", True), ("IOWeight=10000", True),
     ("CPUWeight=0", False), ("IOWeight=10001", False)],
)  # fmt: skip
def test_systemd_takes_the_weights_that_a_request_may_give_and_no_others(
    tmp_path: Path, setting: str, *, known: bool
) -> None:
    unit = tmp_path / "cpt-send-t.service"
    unit.write_text(f"[Service]\nExecStart=/bin/true\n{setting}\n")
    said = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (unit.name in said.stderr) is not known


def allowed(group: str) -> set[str]:
    """System calls of a group of systemd's, those of the groups in it included."""
    text = subprocess.run(
        ["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True
    ).stdout
    names = [line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return {name for each in names for name in (allowed(each) if each.startswith("@") else {each})}


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """Where each role left its system calls after a small transfer by hand through one relay pair."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "large").write_bytes(bytes(5 << 20))
    (source / "link").symlink_to("large")
    control = ["--control-dir", str(tmp_path / "control")]

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        ready = ["--ready", str(tmp_path / f"{name}.ready")]
        trace = ["strace", "-f", "-qq", "-o", str(tmp_path / f"{name}.trace")]
        return subprocess.Popen([*trace, str(PROGRAM), *arguments, *control, *ready], stderr=subprocess.DEVNULL)

    subprocess.run([PROGRAM, "plan", *control, "--chunk-mib", "1", f"{source}/"], check=True, capture_output=True)
    ports = free_ports(3)
    receiver = start(
        "receive", "receive", "--listen", f"127.0.0.1:{ports[0]}", "--verify", "readback", str(tmp_path / "out")
    )
    subprocess.run([PROGRAM, "await-ready", tmp_path / "receive.ready", "--seconds", "60"], check=True)
    via = f"127.0.0.1:{ports[1]},127.0.0.1:{ports[2]}"
    sender = start("send", "send", "--via", via)
    relays = [
        start(f"relay-{i}", "relay", "--idle-seconds", "5", "--listen", f"127.0.0.1:{port}")
        for i, port in enumerate(ports[1:])
    ]
    assert (sender.wait(120), receiver.wait(120)) == (0, 0)
    assert [relay.wait(60) for relay in relays] == [0, 0]
    return tmp_path


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


def test_the_daemon_makes_no_call_that_its_unit_forbids(traced: Path) -> None:
    known = allowed("@system-service")
    for role in ("send", "receive", "relay-0", "relay-1"):
        text = (traced / f"{role}.trace").read_text(errors="replace")
        calls = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", text, re.MULTILINE))
        assert {"openat2", "sendto"} & calls or role.startswith("relay"), calls
        assert calls - known == set(), role
        families = set(re.findall(r"socket\((AF_\w+)", text))
        assert families <= {"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"}, role
