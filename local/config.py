"""Configuration of the local cloud: a TOML file, every key optional."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, DirectoryPath, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from local.facts import fact

# The kernel counts a bucket in ticks of 64 ns, of which 32 bits hold 274 s.
MOST_CREDIT_SECONDS = 270


class ConfigError(Exception):
    """The configuration cannot be used; the message names the key, the value and what would be right."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class CapChange(_Section):
    """From `after_seconds` after the launch on, the caps between regions are `factor` times what they were."""

    after_seconds: float = Field(gt=0)
    factor: float = Field(gt=0)


class Caps(_Section):
    """Most that one VM may send or receive, MB/s (10⁶ bytes per second); absent: no cap.

    With `burst_mb_s` the VM moves that much in all while its credit lasts, `intra_region_mb_s` after that: `credit_mb`
    is a full bucket, which the launch finds, and what is not used fills it again. `changes` are other traffic.
    """

    inter_region_mb_s: float | None = Field(default=None, gt=0, alias="interRegionMBps")
    intra_region_mb_s: float | None = Field(default=None, gt=0, alias="intraRegionMBps")
    burst_mb_s: float | None = Field(default=None, gt=0, alias="burstMBps")
    credit_mb: float | None = Field(default=None, gt=0, alias="creditMB")
    changes: list[CapChange] = Field(default_factory=list)

    @model_validator(mode="after")
    def _burst_is_whole(self) -> Self:
        given = [value is not None for value in (self.burst_mb_s, self.credit_mb)]
        baseline = self.intra_region_mb_s
        if any(given) and not (all(given) and baseline and (self.burst_mb_s or 0) > baseline):
            raise ValueError("burstMBps and creditMB come together, with intraRegionMBps below burstMBps")
        if self.credit_mb and baseline and self.credit_mb > MOST_CREDIT_SECONDS * baseline:
            most = MOST_CREDIT_SECONDS * baseline
            raise ValueError(f"creditMB: {self.credit_mb:g}; at most {most:g}, {MOST_CREDIT_SECONDS} s of the baseline")
        return self

    @staticmethod
    def of(inter: float | None, intra: float | None) -> Caps:
        """Caps from two figures."""
        return Caps.model_validate({"interRegionMBps": inter, "intraRegionMBps": intra})

    def scaled(self, factor: float) -> Caps:
        """The same caps times `factor`; the credit, which is no rate, as well."""
        return self._times(factor, "inter_region_mb_s", "intra_region_mb_s", "burst_mb_s", "credit_mb")

    def changed(self, factor: float) -> Caps:
        """The same caps with those between regions times `factor`."""
        return self._times(factor, "inter_region_mb_s")

    def _times(self, factor: float, *names: str) -> Caps:
        return self.model_copy(update={name: value * factor for name in names if (value := getattr(self, name))})


Factor = Annotated[float, Field(gt=0)]


class LaunchCaps(_Section):
    """Scales the caps of every n-th launch among those that carry a tag (a noisy neighbour, counted)."""

    tag: str | None = Field(default=None, description="Tag key that a launch must carry to be counted.")
    value: str | None = Field(default=None, description="Value of that tag; absent: any.")
    region: str | None = None
    every: int = Field(default=1, ge=1)
    factor: Factor | Annotated[list[Factor], Field(min_length=1)] = Field(
        description="Of each n-th launch; a list: one after the other, and round again."
    )

    def factor_of(self, count: int) -> float:
        """Return what the counted launch `count`, from 1, has its caps multiplied with."""
        if count % self.every:
            return 1.0
        if isinstance(self.factor, float):
            return self.factor
        return self.factor[(count // self.every - 1) % len(self.factor)]


class CapsSection(Caps):
    """Default caps, and by instance type; `launches` scales counted launches."""

    by_type: dict[str, Caps] = Field(default_factory=dict)
    launches: list[LaunchCaps] = Field(default_factory=list)

    def of_type(self, instance_type: str) -> Caps:
        """Caps of a type; what it does not name comes from the default."""
        own = self.by_type.get(instance_type, Caps())
        return Caps.model_construct(**{name: getattr(own, name) or getattr(self, name) for name in Caps.model_fields})


class Fault(_Section):
    """A fault: of the calls that it is aimed at, the first `after` pass and the next `count` fail with `code`.

    With `delay_seconds` they do not fail: they reach EC2 so much later (only `operation` and `region` are looked at).

    `operation` is RunInstances or any other action of EC2; SendCommand, counted by machine, where `code` TimedOut
    means a command that times out; UpdateInstanceInformation, by which an agent registers: one that fails never comes
    online; or a call of DynamoDB that reads or writes items: BatchWriteItem's code UnprocessedItems writes `available`
    of them; PutEvents, of which an entry is refused; DeliverEvent, which a rule's target gets not at all (code Lost),
    twice (Doubled) or `late_seconds` later (Late); or Invoke: the function does its work, and then the caller is told
    `code`, such as Sandbox.Timedout; with code Twice it works twice at the same time.
    """

    operation: str = "RunInstances"
    region: str
    zone: str | None = Field(default=None, description="Of the subnet, with RunInstances.")
    instance_type: str | None = Field(default=None, description="With RunInstances.")
    market: Literal["on-demand", "spot"] | None = Field(default=None, description="With RunInstances.")
    document: str | None = Field(default=None, description="With SendCommand.")
    table: str | None = Field(default=None, description="With calls of DynamoDB.")
    function: str | None = Field(default=None, description="With Invoke.")
    detail_type: str | None = Field(default=None, description="With PutEvents and DeliverEvent.")
    after: int = Field(default=0, ge=0)
    count: int = Field(default=1, ge=1)
    code: str = "InsufficientInstanceCapacity"
    delay_seconds: float = Field(default=0, ge=0)
    late_seconds: float = Field(default=0, ge=0, description="With code Late.")
    available: int = Field(default=0, ge=0, description="Instances launched all the same, where MinCount allows it.")


class SpotWarning(_Section):
    """The n-th instance launched in `region` gets a spot interruption warning `after_seconds` after it runs."""

    region: str
    launch: int = Field(default=1, ge=1)
    after_seconds: float = Field(default=1, ge=0)


class Latency(_Section):
    """Added to API calls, seconds (one round trip each)."""

    remote_region_seconds: float = Field(default=0, ge=0)
    ssm_seconds: float = Field(default=0, ge=0)


class Rate(_Section):
    """The rate at which one kind of call is answered in a region: a bucket of `burst` calls that fills again."""

    burst: int = Field(ge=1)
    per_second: float = Field(gt=0)


class LocalConfig(_Section):
    """The settings of one local cloud."""

    port: int = Field(default=4566, ge=0, le=65535, description="0: a free port, written to the state file.")
    instances: Literal["process", "netns"] = "process"
    account: str = Field(default="000000000000", pattern=r"^\d{12}$")
    home_region: str = "us-west-2"
    regions: list[str] = Field(default_factory=lambda: ["us-west-2", "eu-west-1"], min_length=1, max_length=8)
    iam: bool = Field(default=True, description="Enforce the IAM policies of the templates.")
    peering: bool = Field(default=False, description="Private addresses reach other regions (VPC peering).")
    caps: CapsSection = Field(default_factory=CapsSection)
    image: Annotated[DirectoryPath, AfterValidator(Path.absolute)] | None = Field(
        default=None, description="Files that every instance starts with, as in a baked image."
    )
    launch_seconds: float = Field(default=0.05, ge=0, description="RunInstances until `running`.")
    boot_seconds: float = Field(default=0.2, ge=0, description="`running` until the operating system is up.")
    ssm_registration_seconds: float = Field(default=0.1, ge=0, description="System up until SSM shows it online.")
    terminate_seconds: float = Field(default=0.05, ge=0, description="`shutting-down` until `terminated`.")
    spot_grace_seconds: float = Field(default=5, ge=0, description="Spot warning until termination (AWS: 120).")
    faults: list[Fault] = Field(default_factory=list)
    spot_warnings: list[SpotWarning] = Field(default_factory=list)
    not_found_after_launch: int = Field(
        default=0, ge=0, description="Describe calls that answer InvalidInstanceID.NotFound."
    )
    invocation_does_not_exist: int = Field(
        default=0, ge=0, description="First looks at each command that do not find it."
    )
    lambda_retry_seconds: float = Field(
        default=1, gt=0, description="First wait between asynchronous Lambda attempts, doubled each time (AWS: 60)."
    )
    cold_start_seconds: float = Field(
        default=0, ge=0, description="Added to each start of a Lambda's environment (AWS: 1 to 2 for these functions)."
    )
    schedule_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of a rate(…) schedule takes; less makes schedules come sooner."
    )
    shutdown_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of an instance's `shutdown +MINUTES` takes."
    )
    vcpu_quota: int = Field(default=1024, ge=0, description="Quota of vCPUs per region and market.")
    spot_vcpu_quota: int | None = Field(default=None, ge=0, description="Of spot; absent: as `vcpu_quota`.")
    spot_role: bool = Field(default=True, description="The account has used spot: EC2's role for it exists.")
    function_concurrency: int = Field(
        default=fact("lambda-concurrency"),
        ge=1,
        description="Functions that may run at once; a new account may have 10.",
    )
    poll_seconds: float = Field(
        default=0.1, gt=0, description="How long functions wait between two looks (as deployed: 1)."
    )
    rates: dict[Annotated[str, Field(pattern=r"^[a-z0-9]+:[A-Za-z]+$")], Rate] = Field(
        default_factory=dict, description="By service and action, as in `ssm:SendCommand`; others are not limited."
    )
    latency: Latency = Field(default_factory=Latency)

    @model_validator(mode="after")
    def _only_the_kernel_has_buckets(self) -> Self:
        for caps in (self.caps, *self.caps.by_type.values()):
            if self.instances == "process" and (caps.burst_mb_s or caps.changes):
                raise ValueError("burstMBps, creditMB and changes of caps need instances = netns")
        return self

    def vcpus(self, market: str) -> int:
        """Quota of vCPUs of one market in each region."""
        return self.vcpu_quota if market != "spot" or self.spot_vcpu_quota is None else self.spot_vcpu_quota


_MESSAGES = {"extra_forbidden": "no such key; docs/local-cloud.md lists them"}


def load_config(path: Path | None) -> LocalConfig:
    """Read a TOML file (None: all defaults).

    Raises ConfigError when the file is absent, is not TOML, or names a key or value that does not exist.
    """
    if path is None:
        return LocalConfig()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror}; give the path of a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"--config {path}: not TOML: {error}") from error
    try:
        return LocalConfig.model_validate(document)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])} = {item.get('input')!r}: "
            f"{_MESSAGES.get(item['type'], item['msg'])}"
            for item in error.errors()
        )
        raise ConfigError(f"--config {path}: {problems}") from error
