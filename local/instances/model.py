"""The parts of an instance: identity, addresses, caps, directories. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from local.caps import Caps

Mode = Literal["process", "netns"]


class NoAddressLeftError(Exception):
    """Raised when all 250 addresses of a region's block are in use."""


@dataclass(frozen=True)
class AddressPlan:
    """Addresses of instances: region k, instance n.

    Process mode: 127.(10+k).block.n and 127.(110+k).block.n. Namespaces: 10.(10+k).0.n and 100.64.k.n.
    """

    mode: Mode
    regions: tuple[str, ...]
    block: int = 0

    def private(self, region: str, number: int) -> str:
        """Private address of instance `number`."""
        k = self.regions.index(region)
        return f"127.{10 + k}.{self.block}.{number}" if self.mode == "process" else f"10.{10 + k}.0.{number}"

    def public(self, region: str, number: int) -> str:
        """Public address of instance `number`."""
        k = self.regions.index(region)
        return f"127.{110 + k}.{self.block}.{number}" if self.mode == "process" else f"100.64.{k}.{number}"

    def private_range(self, region: str) -> str:
        """CIDR of a region's private addresses: its VPC."""
        k = self.regions.index(region)
        return f"127.{10 + k}.0.0/16" if self.mode == "process" else f"10.{10 + k}.0.0/16"

    def public_range(self, region: str) -> str:
        """CIDR of a region's public addresses."""
        k = self.regions.index(region)
        return f"127.{110 + k}.0.0/16" if self.mode == "process" else f"100.64.{k}.0/24"

    def ranges(self, region: str) -> list[str]:
        """CIDRs that hold a region's addresses."""
        return [self.private_range(region), self.public_range(region)]

    @property
    def everywhere(self) -> list[str]:
        """CIDRs that hold the addresses of all regions."""
        return ["127.0.0.0/8"] if self.mode == "process" else ["10.0.0.0/8", "100.64.0.0/10"]


@dataclass(frozen=True)
class Held:
    """What an instance's network is held to at a moment: its own caps, and MB/s by pair of regions, as in `A>B`."""

    caps: Caps
    between: Mapping[str, float]


@dataclass
class Instance:
    """One launched instance, as its backend needs it. `caps` are those of its launch, `held` those of the moment."""

    instance_id: str
    account: str
    region: str
    zone: str
    instance_type: str
    image_id: str
    number: int
    private_address: str
    public_address: str
    role: str | None
    profile_arn: str | None
    caps: Caps
    home: Path
    launch_number: int
    shutdown_minute_seconds: float = 60
    user_data: str = ""
    booted: bool = False
    online: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    held: Held = field(init=False)

    def __post_init__(self) -> None:
        self.held = Held(self.caps, {})


@dataclass(frozen=True)
class CommandResult:
    """The end of a script. `code` is the shell's; `timed_out` says that its process group was killed."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False


class Backend(Protocol):
    """The place where instances live: processes or network namespaces."""

    def launch(self, instance: Instance) -> None:
        """Make the instance's directories, network with the caps that it is held to, and metadata service."""

    def run(self, instance: Instance, script: str, env: dict[str, str], timeout: float) -> CommandResult:
        """Run a shell script on the instance; its process group dies after `timeout` seconds."""

    def halt(self, instance: Instance) -> None:
        """Kill every process of the instance, remove its network and what systemd forgets when it is switched off."""

    def terminate(self, instance: Instance) -> None:
        """Kill every process of the instance, keep its logs, remove its directories and network."""

    def apply_rules(self, instance: Instance, ruleset: str) -> None:
        """Replace the instance's firewall by an nftables ruleset."""

    def apply_caps(self, instance: Instance) -> None:
        """Change the caps of a launched instance's network to those that it is held to now."""
