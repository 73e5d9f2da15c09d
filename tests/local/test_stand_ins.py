"""The programs that stand in for those of a real machine do what those would do, and refuse what those would refuse."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

BIN = Path(__file__).parents[2] / "local" / "instances" / "bin"
NOTIFIES = """
import os, socket, time
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.connect(os.environ["NOTIFY_SOCKET"])
    while True:
        manager.send(b"WATCHDOG=1")
        time.sleep(float(os.environ["WATCHDOG_USEC"]) / 3e6)
"""


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until that holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


class Machine:
    """A machine on which units run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runs = directory / "runs"
        (directory / "env").touch()

    def call(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """What the machine's `program` prints."""
        environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "CPT_INSTANCE_DIR": str(self.directory)}
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)

    def run(self, then: str, *properties: str) -> None:
        """Run a unit `u` that counts its starts and then does that."""
        options = [f"--property={each}" for each in properties]
        script = f"echo >>'{self.runs}'; {then}"
        started = self.call("systemd-run", "--unit=u", *options, "/bin/sh", "-c", script)
        assert started.returncode == 0, started.stderr

    def starts(self) -> int:
        """How often the program was started."""
        return len(self.runs.read_text()) if self.runs.exists() else 0

    def pid(self) -> int | None:
        """The program's process, while one runs."""
        try:
            return int((self.directory / "units/u/pid").read_text())
        except FileNotFoundError:
            return None

    def wait_for_starts(self, count: int) -> None:
        """Wait until the program was started so often and runs."""
        until(lambda: self.starts() == count and self.pid() is not None)

    def kill(self, number: signal.Signals) -> None:
        """Send its program a signal; of one that ends, wait for its end."""
        pid = self.pid()
        assert pid is not None
        os.kill(pid, number)
        if number == signal.SIGKILL:
            until(lambda: self.pid() != pid)

    def is_loaded(self) -> bool:
        """Whether the unit runs or waits for its next start."""
        return self.call("systemctl", "is-loaded", "u").returncode == 0


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine whose units end with the test."""
    machine = Machine(tmp_path)
    yield machine
    machine.call("systemctl", "stop", "*")


@pytest.mark.parametrize("option", [["--property=ProtectSytem=strict"], ["-p", "ProtectSytem=strict"]])
def test_a_property_that_systemd_does_not_know_is_refused(machine: Machine, option: list[str]) -> None:
    ended = machine.call("systemd-run", "--unit=u", "--property=ProtectSystem=strict", *option, "true")
    assert (ended.returncode, ended.stderr) == (1, "systemd-run: Unknown assignment: ProtectSytem=strict\n")
    assert not (machine.directory / "units").exists()


@pytest.mark.parametrize("value", ["0", "10001", "1.5", "-1", "", "half"])
@pytest.mark.parametrize("name", ["CPUWeight", "IOWeight"])
def test_a_weight_that_systemd_does_not_take_is_refused(machine: Machine, name: str, value: str) -> None:
    ended = machine.call("systemd-run", "--unit=u", f"--property={name}={value}", "true")
    assert (ended.returncode, ended.stderr) == (1, f"Failed to parse {name} value: {value}\n")
    assert not (machine.directory / "units").exists()


def test_a_unit_shows_the_properties_with_which_it_was_started(machine: Machine) -> None:
    machine.run("exec sleep 600", "CPUWeight=1", "RestartSec=1ms")
    assert machine.call("systemctl", "show", "--property=CPUWeight", "u.service").stdout == "CPUWeight=1\n"
    assert machine.call("systemctl", "show", "--property=IOWeight", "u.service").stdout == "IOWeight=[not set]\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights that could be taken away")
def test_a_program_of_root_has_the_rights_of_its_unit_and_no_more(machine: Machine, tmp_path: Path) -> None:
    status = tmp_path / "status"
    properties = ("CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_CHOWN", "NoNewPrivileges=yes")
    machine.run(f"cat /proc/self/status >'{status}.new'; mv '{status}.new' '{status}'; sleep 60", *properties)
    until(status.exists)
    found = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
    # CAP_CHOWN is number 0, CAP_DAC_READ_SEARCH 2 (linux/capability.h).
    assert {name: int(found[name], 16) for name in ("CapBnd", "CapEff", "CapPrm")} == dict.fromkeys(
        ("CapBnd", "CapEff", "CapPrm"), 0b101
    )
    assert found["NoNewPrivs"] == "1"


def test_a_program_that_is_killed_is_started_again_until_somebody_stops_its_unit(machine: Machine) -> None:
    machine.run("exec sleep 600", "Restart=on-failure", "RestartSec=1ms")
    for starts in (1, 2, 3):
        machine.wait_for_starts(starts)
        if starts < 3:
            machine.kill(signal.SIGKILL)
    assert machine.call("systemctl", "stop", "u").returncode == 0
    assert (machine.starts(), machine.is_loaded()) == (3, False)


@pytest.mark.parametrize("code", [0, 3])
def test_a_program_that_ends_by_its_own_will_is_not_started_again(machine: Machine, code: int) -> None:
    machine.run(f"exit {code}", "Restart=on-failure", "RestartSec=1ms", "RestartPreventExitStatus=1 2 3")
    until(lambda: not machine.is_loaded())
    assert machine.starts() == 1


def test_a_program_that_always_fails_is_not_started_for_ever(machine: Machine) -> None:
    limit = ("StartLimitBurst=3", "StartLimitIntervalSec=60")
    machine.run("exit 7", "Restart=on-failure", "RestartSec=1ms", *limit)
    until(lambda: not machine.is_loaded())
    assert machine.starts() == 3


def test_a_program_without_a_sign_of_life_is_ended_and_started_again(machine: Machine) -> None:
    watchdog = ("WatchdogSec=200ms", "WatchdogSignal=SIGKILL", "NotifyAccess=main")
    machine.run("exec sleep 600", "Restart=on-failure", "RestartSec=1ms", *watchdog)
    until(lambda: machine.starts() >= 2)


def test_a_program_that_gives_signs_of_life_is_left_alone_until_it_is_frozen(machine: Machine, tmp_path: Path) -> None:
    program = tmp_path / "notifies.py"
    program.write_text(NOTIFIES)
    watchdog = ("WatchdogSec=3s", "WatchdogSignal=SIGKILL")
    machine.run(f"exec python3 '{program}'", "Restart=on-failure", "RestartSec=1ms", *watchdog)
    machine.wait_for_starts(1)
    with pytest.raises(TimeoutError):
        until(lambda: machine.starts() > 1, seconds=4)
    machine.kill(signal.SIGSTOP)
    until(lambda: machine.starts() == 2)


LONG = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


def test_a_unit_whose_time_is_up_is_told_to_end(machine: Machine) -> None:
    machine.run(LONG, "RuntimeMaxSec=1")
    machine.wait_for_starts(1)
    until(lambda: not machine.is_loaded())
    assert machine.starts() == 1


def test_a_unit_whose_time_was_up_has_failed(machine: Machine) -> None:
    machine.run(LONG, "RuntimeMaxSec=1", "Restart=on-failure")
    machine.wait_for_starts(2)
    machine.call("systemctl", "stop", "u")


def test_a_unit_that_waits_for_its_next_start_is_stopped_at_once(machine: Machine) -> None:
    machine.run("exit 7", "Restart=on-failure", "RestartSec=3600s")
    until(lambda: machine.starts() == 1 and machine.pid() is None)
    assert (machine.is_loaded(), machine.call("systemctl", "is-active", "u").returncode) == (True, 3)
    machine.call("systemctl", "stop", "u")
    assert (machine.starts(), machine.is_loaded()) == (1, False)
