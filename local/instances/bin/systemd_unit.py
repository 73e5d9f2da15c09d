#!/usr/bin/env python3
"""Stand-in: runs one transient unit as systemd does: starts its program again, and ends one that gives no sign of life.

systemd_unit.py DIRECTORY [PROPERTY=VALUE ...] -- PROGRAM [ARGUMENT ...]

`DIRECTORY/pid` holds the program's process while one runs, `DIRECTORY/manager` this one, which ends with the unit.
`DIRECTORY/started` is there once the program ran for the first time.
A file `DIRECTORY/stopping` says that the program is not to be started again.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "d": 86400.0, "": 1.0}
FAILED = 1
# Of no program: to systemd such a unit has failed, whatever its program's code.
TIMED_OUT = 256


def seconds(text: str) -> float:
    """A time span with one unit, as systemd.time(7) has them."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * UNITS[text[len(number) :]]


def say(line: str) -> None:
    """One line into the unit's log."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def rights(properties: dict[str, str]) -> list[str]:
    """The command that leaves a program those of root's rights that its unit has; none for others, who have none."""
    if os.geteuid():
        return []
    command = ["setpriv"]
    if (kept := properties.get("CapabilityBoundingSet")) is not None:
        names = [name.removeprefix("CAP_").lower() for name in kept.split()]
        command.append("--bounding-set=" + ",".join(["-all", *(f"+{name}" for name in names)]))
    if properties.get("NoNewPrivileges") == "yes":
        command.append("--no-new-privs")
    return [*command, "--"] if command[1:] else []


class Unit:
    """The unit's settings; those that are missing are systemd's own."""

    def __init__(self, directory: Path, properties: dict[str, str]) -> None:
        self.directory = directory
        self.restart = properties.get("Restart", "no")
        self.pause = seconds(properties.get("RestartSec", "100ms"))
        self.prevented = {int(code) for code in properties.get("RestartPreventExitStatus", "").split()}
        self.interval = seconds(properties.get("StartLimitIntervalSec", "10s"))
        self.burst = int(properties.get("StartLimitBurst", "5"))
        self.watchdog = seconds(properties.get("WatchdogSec", "0"))
        self.watchdog_signal = getattr(signal, properties.get("WatchdogSignal", "SIGABRT"))
        self.most = seconds(properties["RuntimeMaxSec"]) if "RuntimeMaxSec" in properties else None
        self.rights = rights(properties)
        # With WatchdogSec= and without NotifyAccess= the main process may speak.
        self.hears = self.watchdog > 0 and properties.get("NotifyAccess", "main") != "none"

    def run(self, command: list[str]) -> None:
        """Run the program until it is not to be started again."""
        starts: list[float] = []
        while True:
            now = time.monotonic()
            starts = [at for at in starts if now - at < self.interval] + [now]
            if len(starts) > self.burst:
                say("Start request repeated too quickly.")
                return
            if not self.goes_on(self.run_once(command)) or self.is_stopped_within(self.pause):
                return

    def stops(self) -> bool:
        """Return whether `systemctl stop` was called."""
        return (self.directory / "stopping").exists()

    def is_stopped_within(self, pause: float) -> bool:
        """Return whether `systemctl stop` is called during the pause before the next start."""
        end = time.monotonic() + pause
        while not self.stops() and time.monotonic() < end:
            time.sleep(0.02)
        return self.stops()

    def goes_on(self, code: int) -> bool:
        """Return whether a program that ended so is started again; `code` is negative after a signal."""
        if self.restart == "on-failure":
            clean = code == 0 or -code in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
            return not clean and code not in self.prevented
        return self.restart == "always" and code not in self.prevented

    def run_once(self, command: list[str]) -> int:
        """The code with which the program ended."""
        with contextlib.ExitStack() as stack:
            environment = dict(os.environ)
            heard = None
            if self.hears:
                # The name of a socket may have 107 bytes; the machine's own directories may lie deeper.
                folder = tempfile.mkdtemp(prefix="cpt-notify-", dir="/tmp")
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
                # Its user may be another one.
                Path(folder).chmod(0o755)
                heard = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                heard.bind(f"{folder}/notify")
                Path(folder, "notify").chmod(0o777)
                environment |= {"NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": str(int(self.watchdog * 1e6))}
            program = subprocess.Popen(
                [*self.rights, *command],
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd="/",
                start_new_session=True,
                umask=0o022,  # as the first process has it, whatever that of the script is
            )
            stack.callback(lambda: (self.directory / "pid").unlink(missing_ok=True))
            new = self.directory / "pid.new"
            new.write_text(f"{program.pid}\n")
            new.rename(self.directory / "pid")
            (self.directory / "started").touch()
            if self.stops():
                # Whoever stops the unit has found no program yet.
                program.terminate()
            return self.wait(program, heard)

    def wait(self, program: "subprocess.Popen[bytes]", heard: "socket.socket | None") -> int:
        """Wait for its end; one that is silent for too long gets the watchdog's signal."""
        if heard is None:
            try:
                return program.wait(self.most)
            except subprocess.TimeoutExpired:
                say(f"Service reached runtime time limit (limit {self.most:.0f}s). Stopping.")
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGTERM)
                program.wait()
                return TIMED_OUT
        end = os.pidfd_open(program.pid)
        try:
            left: float | None = self.watchdog
            alive_at = time.monotonic()
            while program.poll() is None:
                ready, _, _ = select.select([heard.fileno(), end], [], [], left)
                if heard.fileno() in ready and b"WATCHDOG=1" in heard.recv(4096).split(b"\n"):
                    alive_at = time.monotonic()
                if left is not None and (left := alive_at + self.watchdog - time.monotonic()) <= 0:
                    say(f"Watchdog timeout (limit {self.watchdog:.0f}s)!")
                    left = None
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(program.pid, self.watchdog_signal)
            return program.returncode
        finally:
            os.close(end)


def main() -> None:
    """Read the arguments, run the unit; a signal to this process ends it as a machine that loses its power does."""
    split = sys.argv.index("--")
    directory = Path(sys.argv[1])
    properties = dict(each.split("=", 1) for each in sys.argv[2:split])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))
    manager = directory / "manager"
    manager.write_text(f"{os.getpid()}\n")
    try:
        Unit(directory, properties).run(sys.argv[split + 1 :])
    finally:
        manager.unlink(missing_ok=True)


main()
