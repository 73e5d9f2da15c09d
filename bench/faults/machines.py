"""Faults of a machine of the local cloud, each ended by whoever began it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from botocore.exceptions import ClientError

from bench.data_plane.network import NetworkError, command
from local.state import namespaces
from tests.chaos import clock
from tests.e2e.account import Account

MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
METADATA = "169.254.169.254"


class Machine:
    """One instance, by its network namespace."""

    def __init__(self, account: Account, instance_id: str, region: str) -> None:
        self.account, self.instance_id, self.region = account, instance_id, region

    @property
    def namespace(self) -> str | None:
        """Its name ends with that of the instance; None once the instance has gone."""
        prefix = self.account.cloud.state.network_prefix
        return next((name for name in namespaces(prefix) if name.endswith(self.instance_id[-5:])), None)

    def signal(self, name: str) -> None:
        """Send a signal to the daemons' processes; who starts them again gets none."""
        try:
            self.account.shell(self.instance_id, self.region, f"systemctl kill --signal={name} 'cpt-*'")
        except ClientError:
            if self._is_running:
                raise

    def terminate(self) -> None:
        """Take the machine away."""
        self.account.cloud.client("ec2", self.region).terminate_instances(InstanceIds=[self.instance_id])

    def set_clock(self, seconds: int) -> None:
        """Let the daemons' clocks be `seconds` off."""
        for pid in clock.daemons(self._home):
            clock.jump(pid, seconds)

    @contextmanager
    def dropping(self, *rules: str) -> Iterator[None]:
        """Packets that match are dropped: `CHAIN MATCH`, chain `in` or `out`."""
        chains = {
            chain: "; ".join(f"{rule.split(' ', 1)[1]} drop" for rule in rules if rule.startswith(f"{chain} "))
            for chain in ("in", "out")
        }
        table = f"""
            table ip fault {{
                chain in {{ type filter hook input priority 0; {chains["in"]}; }}
                chain out {{ type filter hook output priority 0; {chains["out"]}; }}
            }}"""
        self._nft("-f", "-", text=table.replace("; ;", ";"))
        try:
            yield
        finally:
            self._nft("delete", "table", "ip", "fault")

    def _nft(self, *words: str, text: str = "") -> None:
        """Change its firewall, unless it is just being taken away."""
        try:
            command("nsenter", f"--net=/run/netns/{self.namespace}", "--", "nft", *words, text=text)
        except NetworkError:
            if self._is_running:
                raise

    @contextmanager
    def short_of_memory(self) -> Iterator[None]:
        """Its daemons get 4 MiB more than they have, for what they read and write of files too."""
        group = MEMORY_GROUPS / f"cpt-fault-{self.instance_id}"
        group.mkdir()
        try:
            for unit in self._home.glob("units/*/pid"):
                _move(unit.read_text().strip(), group)
            (group / "memory.limit_in_bytes").write_text(str(4 << 20))
            yield
        finally:
            (group / "memory.limit_in_bytes").write_text("-1")
            for pid in (group / "cgroup.procs").read_text().split():
                _move(pid, MEMORY_GROUPS)
            group.rmdir()

    @property
    def _home(self) -> Path:
        return self.account.cloud.state.instances / self.instance_id

    @property
    def _is_running(self) -> bool:
        found = self.account.cloud.client("ec2", self.region).describe_instances(InstanceIds=[self.instance_id])
        return bool(found["Reservations"][0]["Instances"][0]["State"]["Name"] == "running")


def _move(pid: str, group: Path) -> None:
    """Count a process' memory in a group, unless it has ended."""
    with suppress(ProcessLookupError):
        (group / "cgroup.procs").write_text(pid)


@contextmanager
def frozen_disk(mount: Path) -> Iterator[None]:
    """No write to a file system comes back."""
    command("fsfreeze", "--freeze", str(mount))
    try:
        yield
    finally:
        command("fsfreeze", "--unfreeze", str(mount))


@contextmanager
def disk(image: Path, mount: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own, in a file."""
    with image.open("wb") as file:
        file.truncate(megabytes * 1_000_000)
    command("mkfs.ext4", "-q", "-F", str(image))
    mount.mkdir()
    command("mount", "-o", "loop", str(image), str(mount))
    try:
        yield mount
    finally:
        command("umount", "--lazy", str(mount))
