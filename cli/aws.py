"""The account to talk to: that of the environment, or the local cloud of this checkout."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

import boto3
import typer
from botocore.config import Config

from cli.console import say
from cli.exit_codes import ExitCode

STATE_FILE = Path(".local/state.json")
# What commands read without a default.
_KEYS: tuple[tuple[str, type, str], ...] = (
    ("homeRegion", str, 'the region of the deployment, e.g. "us-west-2"'),
    ("regions", dict, 'the enrolled regions, e.g. {"us-west-2": {}, "eu-west-1": {}}'),
)


@dataclass(frozen=True)
class Aws:
    """Clients for the home region of one deployment.

    Each is made once: making one takes 50 ms of a core, and waiting for something asks many times.
    """

    region: str
    deployment: str = "cpt"
    endpoint_url: str | None = None
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
            return boto3.Session()
        return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")  # noqa: S106


def configuration() -> dict[str, Any]:
    """The deployment's settings from cdk.json of this checkout; ends the command where it holds none."""
    path = Path("cdk.json").absolute()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        _unusable(f"{path} is not here; call cpt in the checkout")
    except OSError as error:
        _unusable(f"{path}: {error.strerror}; cpt reads its settings there")
    except ValueError as error:
        _unusable(f"{path} is not JSON: {error}")
    context = document.get("context") if isinstance(document, dict) else None
    settings = context.get("cpt") if isinstance(context, dict) else None
    if not isinstance(settings, dict):
        _unusable(f"{path} has no object context.cpt; docs/deploy.md lists its keys")
    for key, kind, right in _KEYS:
        if key not in settings:
            _unusable(f"{path}: context.cpt.{key} is missing; write {right}")
        if not isinstance(settings[key], kind):
            _unusable(f"{path}: context.cpt.{key} {json.dumps(settings[key])} is not valid; write {right}")
    return settings


def home(*, local: bool) -> Aws:
    """The home region, of the running local cloud if `local`."""
    settings = configuration()
    endpoint = None
    if local:
        if not STATE_FILE.exists():
            _unusable("no local cloud is running; start one with `cpt local up`")
        endpoint = json.loads(STATE_FILE.read_text(encoding="utf-8"))["endpoint"]
    return Aws(settings["homeRegion"], settings.get("name", "cpt"), endpoint)


def _unusable(why: str) -> NoReturn:
    say(f"cpt: {why}", err=True)
    raise typer.Exit(ExitCode.USAGE)
