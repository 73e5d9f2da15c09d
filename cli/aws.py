"""The account to talk to: that of the environment or a profile, or the local cloud of this checkout."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import boto3
import typer
from botocore.config import Config

from cli.console import say
from cli.exit_codes import ExitCode
from cli.settings import settings
from lambdas.adapters.environment import spread

STATE_FILE = Path(".local/state.json")
# They have one environment.
ANY_FUNCTION = "validate-request"


@dataclass(frozen=True)
class Aws:
    """Clients for the home region of one deployment.

    Each is made once: making one takes 50 ms of a core, and waiting for something asks many times.
    """

    region: str
    deployment: str = "cpt"
    endpoint_url: str | None = None
    profile: str | None = None
    tenant: str | None = None
    """Whose calls go by his aliases; None: the operator's."""
    _made: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _making: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def client(self, service: str, region: str | None = None, config: Config | None = None) -> Any:
        """A boto3 client; one with a `config` of its own is new."""
        where = region or self.region
        with self._making:
            make: Any = self._session.client  # its overloads name every service literally
            if config is not None:
                return make(service, region_name=where, endpoint_url=self.endpoint_url, config=config)
            key = ("client", service, where)
            if key not in self._made:
                self._made[key] = make(service, region_name=where, endpoint_url=self.endpoint_url)
            return self._made[key]

    def resource(self, service: str) -> Any:
        """A boto3 resource, which one thread at a time may use."""
        make: Any = self._session.resource
        with self._making:
            key = ("resource", service)
            if key not in self._made:
                self._made[key] = make(service, region_name=self.region, endpoint_url=self.endpoint_url)
            return self._made[key]

    @cached_property
    def _session(self) -> boto3.Session:
        if self.endpoint_url is None:
            return boto3.Session(profile_name=self.profile)
        return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")  # noqa: S106


def home(*, local: bool) -> Aws:
    """The home region, of the running local cloud if `local`."""
    chosen = settings()
    if not local:
        return Aws(chosen.region, chosen.name, profile=chosen.profile, tenant=chosen.tenant)
    if not STATE_FILE.exists():
        say("cpt: no local cloud is running; start one with `cpt local up`", err=True)
        raise typer.Exit(ExitCode.USAGE)
    endpoint = json.loads(STATE_FILE.read_text(encoding="utf-8"))["endpoint"]
    return Aws(chosen.region, chosen.name, endpoint, tenant=chosen.tenant)


def enrolled(aws: Aws) -> tuple[str, ...]:
    """The enrolled regions: as cdk.json says where it was read, else as the deployment's functions know."""
    written = settings().regions
    if written is not None:
        return written
    function = aws.client("lambda").get_function_configuration(FunctionName=f"{aws.deployment}-{ANY_FUNCTION}")
    # This key alone: a deployment of another version may have other keys beside it.
    return tuple(json.loads(spread(function["Environment"]["Variables"])["REGIONS"]))
