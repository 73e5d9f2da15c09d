"""Where AWS is: the account of the environment, or the local cloud of this checkout."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import typer
from botocore.config import Config

from cli.exit_codes import ExitCode

STATE_FILE = Path(".local/state.json")


@dataclass(frozen=True)
class Aws:
    """Clients for the home region of one deployment."""

    region: str
    deployment: str = "cpt"
    endpoint_url: str | None = None

    def client(self, service: str, region: str | None = None, config: Config | None = None) -> Any:
        """A boto3 client."""
        make: Any = self._session().client  # its overloads name every service literally
        return make(service, region_name=region or self.region, endpoint_url=self.endpoint_url, config=config)

    def resource(self, service: str) -> Any:
        """A boto3 resource."""
        return self._session().resource(service, region_name=self.region, endpoint_url=self.endpoint_url)  # type: ignore[call-overload]

    def _session(self) -> boto3.Session:
        if self.endpoint_url is None:
            return boto3.Session()
        return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")  # noqa: S106


def configuration() -> dict[str, Any]:
    """The deployment's settings from cdk.json of this checkout."""
    settings: dict[str, Any] = json.loads(Path("cdk.json").read_text())["context"]["cpt"]
    return settings


def home(*, local: bool) -> Aws:
    """The home region, of the running local cloud if `local`."""
    settings = configuration()
    endpoint = None
    if local:
        if not STATE_FILE.exists():
            typer.echo("cpt: no local cloud is running; start one with `cpt local up`", err=True)
            raise typer.Exit(ExitCode.USAGE)
        endpoint = json.loads(STATE_FILE.read_text())["endpoint"]
    return Aws(settings["homeRegion"], settings.get("name", "cpt"), endpoint)
