"""The deployment that a command is for: from options, the environment, cpt.toml, cdk.json, or the user's own file."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import typer

from cli.console import say
from cli.exit_codes import ExitCode
from lambdas.core.documents import TENANT

HERE = Path("cpt.toml")
CHECKOUT = Path("cdk.json")
KEYS = ("region", "name", "profile", "tenant")
DEFAULT_NAME = "cpt"
# What commands read without a default.
_CDK_KEYS: tuple[tuple[str, type, str], ...] = (
    ("homeRegion", str, 'the region of the deployment, e.g. "us-west-2"'),
    ("regions", dict, 'the enrolled regions, e.g. {"us-west-2": {}, "eu-west-1": {}}'),
)
_TABLE = (
    '[deployment] with region = "us-west-2", name and profile where they are other than "cpt" and AWS\'s own, and '
    "tenant where you are of one"
)

# Options before the command, or their variables CPT_REGION, CPT_DEPLOYMENT, CPT_PROFILE and CPT_TENANT.
_given: ContextVar[Mapping[str, str]] = ContextVar("given")


@dataclass(frozen=True)
class Settings:
    """Where the deployment is; `regions` are those that cdk.json enrols, None where it was not read.

    `tenant`: whose commands these are; None: the operator's.
    """

    region: str
    name: str
    profile: str | None
    regions: tuple[str, ...] | None
    tenant: str | None = None


def give(**values: str | None) -> None:
    """Remember what the command line or the environment says; each goes before the same key of a file."""
    _given.set({key: value for key, value in values.items() if value})


def settings() -> Settings:
    """The deployment's settings; ends the command where nothing says which one is meant.

    One file is read, the nearest: keys of two files would make up a deployment that neither of them means.
    """
    given = _given.get({})
    found, regions = ({}, None) if "region" in given and "name" in given else _nearest()
    if "region" in given and given["region"] != found.get("region"):
        # A file that is about another region says nothing about this deployment.
        found, regions = {key: found[key] for key in ("profile",) if key in found}, None
    known = {**found, **given}
    if "region" not in known:
        _unusable(
            f"nothing says which deployment is meant: write --region REGION before the command, set CPT_REGION, "
            f"or write {HERE} here or {user_file()} ({_TABLE}); in a checkout {CHECKOUT} says it"
        )
    name = known.get("name", DEFAULT_NAME)
    if name != found.get("name", DEFAULT_NAME):
        regions = None
    tenant = known.get("tenant")
    if tenant is not None and not re.fullmatch(TENANT, tenant):
        _unusable(
            f"tenant '{tenant}' is not valid; write --tenant, CPT_TENANT or deployment.tenant as the deployment's "
            "settings call him: up to 20 lower-case letters and digits, a letter in front"
        )
    return Settings(known["region"], name, known.get("profile"), regions, tenant)


def user_file() -> Path:
    """The user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "cpt" / "config.toml"


def _nearest() -> tuple[dict[str, str], tuple[str, ...] | None]:
    if HERE.exists():
        return _from_toml(HERE.absolute()), None
    if CHECKOUT.exists():
        context = configuration()
        return {"region": context["homeRegion"], "name": context.get("name", DEFAULT_NAME)}, tuple(context["regions"])
    if user_file().exists():
        return _from_toml(user_file()), None
    return {}, None


def _from_toml(path: Path) -> dict[str, str]:
    try:
        document = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        _unusable(f"{path} is not TOML: {error}")
    table = document.get("deployment")
    if not isinstance(table, dict):
        _unusable(f"{path} has no table deployment; write {_TABLE}")
    _refuse_others(path, "", document, ("deployment",))
    _refuse_others(path, "deployment.", table, KEYS)
    for key, value in table.items():
        if not isinstance(value, str) or not value:
            _unusable(f"{path}: deployment.{key} {json.dumps(value, default=str)} is not valid; write a string")
    return dict(table)


def _refuse_others(path: Path, above: str, found: Iterable[str], known: tuple[str, ...]) -> None:
    for key in found:
        if key not in known:
            _unusable(f"{path}: {above}{key} is not a known key; the keys are {', '.join(known)}")


def configuration() -> dict[str, Any]:
    """`context.cpt` of cdk.json of this checkout; ends the command where it holds none."""
    path = CHECKOUT.absolute()
    if not path.exists():
        _unusable(f"{path} is not here; call this in the checkout")
    try:
        document = json.loads(_text(path))
    except ValueError as error:
        _unusable(f"{path} is not JSON: {error}")
    context = document.get("context") if isinstance(document, dict) else None
    found = context.get("cpt") if isinstance(context, dict) else None
    if not isinstance(found, dict):
        _unusable(f"{path} has no object context.cpt; docs/deploy.md lists its keys")
    for key, kind, right in _CDK_KEYS:
        if key not in found:
            _unusable(f"{path}: context.cpt.{key} is missing; write {right}")
        if not isinstance(found[key], kind):
            _unusable(f"{path}: context.cpt.{key} {json.dumps(found[key])} is not valid; write {right}")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        _unusable(f"{path}: {error.strerror}; cpt reads its settings there")
    except UnicodeDecodeError:
        _unusable(f"{path} is not UTF-8 text")


def _unusable(why: str) -> NoReturn:
    say(f"cpt: {why}", err=True)
    raise typer.Exit(ExitCode.USAGE)
