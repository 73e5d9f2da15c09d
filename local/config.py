"""Configuration of the local cloud: a TOML file, every key optional."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, DirectoryPath, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from local.caps import CapsSection
from local.facts import fact
from local.section import Section


class ConfigError(Exception):
    """The configuration cannot be used; the message names the key, the value and what would be right."""


class Fault(Section):
    """A fault: of the calls that it is aimed at, the first `after` pass and the next `count` fail with `code`.

    With `delay_seconds` they do not fail: they reach EC2 so much later. Only `operation`, which may be `*` for all of
    EC2, and `region` are looked at then, and for how long the fault holds.

    `operation` is RunInstances or any other action of EC2; SendCommand, counted by machine, where `code` TimedOut
    means a command that times out, DeliveryTimedOut and Undeliverable one that never runs;
    UpdateInstanceInformation, by which an agent registers: one that fails never comes online; or a call of DynamoDB
    that reads or writes items: BatchWriteItem's code UnprocessedItems writes `available` of them; QueryIndex, a
    query by an index, which with code Behind finds nothing and with Backfilling is refused, since the index is
    being built; PutEvents, of which an entry is refused; DeliverEvent, which a rule's target gets not at all (code
    Lost), twice (Doubled) or `late_seconds` later (Late); or Invoke: the function does its work, and then the
    caller is told `code`, such as Sandbox.Timedout; with code Twice it works twice at the same time. It may be any
    call of S3, such as UploadPart, or `s3:*` for all of S3: it is refused with `code` (SlowDown,
    ConditionalRequestConflict, …), or its answer is cut in the middle (Cut), it is served `late_seconds` later (Late)
    or two times (Twice), or the answer says 200 and then names an error (ErrorInBody, with CompleteMultipartUpload).
    """

    operation: str = "RunInstances"
    region: str
    zone: str | None = Field(default=None, description="Of the subnet, with RunInstances.")
    instance_type: str | None = Field(default=None, description="With RunInstances.")
    market: Literal["on-demand", "spot"] | None = Field(default=None, description="With RunInstances.")
    document: str | None = Field(default=None, description="With SendCommand.")
    table: str | None = Field(default=None, description="With calls of DynamoDB.")
    index: str | None = Field(default=None, description="With QueryIndex.")
    function: str | None = Field(default=None, description="With Invoke.")
    detail_type: str | None = Field(default=None, description="With PutEvents and DeliverEvent.")
    key: str | None = Field(default=None, description="With calls of S3 on an object.")
    prefix: str | None = Field(default=None, description="With calls of S3: of the object's key, or of the listing.")
    after: int = Field(default=0, ge=0)
    count: int = Field(default=1, ge=1)
    code: str = "InsufficientInstanceCapacity"
    delay_seconds: float = Field(default=0, ge=0)
    during_seconds: float | None = Field(default=None, gt=0, description="From when it is added; without it, for ever.")
    late_seconds: float = Field(default=0, ge=0, description="With code Late.")
    available: int = Field(default=0, ge=0, description="Instances launched all the same, where MinCount allows it.")


class SpotWarning(Section):
    """The n-th instance launched in `region` gets a spot interruption warning `after_seconds` after it runs."""

    region: str
    launch: int = Field(default=1, ge=1)
    after_seconds: float = Field(default=1, ge=0)


class Latency(Section):
    """Added to API calls, seconds (one round trip each)."""

    remote_region_seconds: float = Field(default=0, ge=0)
    ssm_seconds: float = Field(default=0, ge=0)


class Rate(Section):
    """The rate at which one kind of call is answered in a region: a bucket of `burst` calls that fills again."""

    burst: int = Field(ge=1)
    per_second: float = Field(gt=0)


class LocalConfig(Section):
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
    ssm_busy_seconds: float = Field(
        default=0,
        ge=0,
        description="From an agent's first command until it takes any (AWS: an association at the first boot).",
    )
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
    delivery_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of a command's `TimeoutSeconds` takes."
    )
    shutdown_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of an instance's `shutdown +MINUTES` takes."
    )
    wait_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of a state machine's Wait state takes."
    )
    restore_hour_seconds: float = Field(
        default=0.5, gt=0, description="How long an hour takes in which S3 restores an archived object."
    )
    visibility_minute_seconds: float = Field(
        default=60, gt=0, description="How long a minute of the visibility timeout of a function's queue takes."
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

    @model_validator(mode="after")
    def _pairs_are_of_regions(self) -> Self:
        for pair in self.caps.between:
            key, (source, destination) = f'caps.between."{pair}"', pair.split(">")
            if self.instances == "process":
                raise ValueError(f"{key} needs instances = netns; it is process")
            for region in (source, destination):
                if region not in self.regions:
                    raise ValueError(f"{key}: {region} is none of regions = {self.regions}")
            if source == destination:
                raise ValueError(f"{key}: a pair has two regions; intraRegionMBps is the cap inside one")
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
        problems = "; ".join(map(_problem, error.errors()))
        raise ConfigError(f"--config {path}: {problems}") from error


def _problem(found: ErrorDetails) -> str:
    """Key, value and what is wrong; a check of the whole configuration names the key itself."""
    key = ".".join(str(part) for part in found["loc"])
    words = _MESSAGES.get(found["type"], found["msg"]).removeprefix("Value error, ")
    return f"{key} = {found.get('input')!r}: {words}" if key else words
