"""Directory tree and environment of one instance."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from local.instances.model import Instance
from local.state import MARKER, StateDir

STAND_INS = Path(__file__).parent / "bin"
CHECKOUT = Path(__file__).parents[2]


class CommandLineMissingError(Exception):
    """The AWS command line, which instances use, is not installed."""


def aws_command_line() -> Path:
    """The AWS command line that instances run.

    Raises CommandLineMissingError when neither the checkout nor the machine has one.
    """
    for candidate in (CHECKOUT / ".tools/bin/aws", Path(sys.executable).parent / "aws"):
        if candidate.exists():
            return candidate
    found = shutil.which("aws")
    if found is None:
        raise CommandLineMissingError(
            "instances need the AWS command line: run `make setup`, which puts it into .tools"
        )
    return Path(found)


def base_environment(instance: Instance, state: StateDir, endpoint: str, metadata: str) -> dict[str, str]:
    """Return what every process of the instance sees; no keys, no region: those come from the metadata service."""
    home = instance.home
    return {
        "PATH": f"{home}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": f"{home}/root",
        "TMPDIR": f"{home}/tmp",  # noqa: S108 - the instance's own
        "LANG": "C.UTF-8",
        "CPT_HOME": f"{home}/cpt",
        "CPT_ALLOWED_PATHS": f"{home}/etc/allowed-paths",
        "CPT_HDFS_KERBEROS": f"{home}/etc/hdfs-kerberos",
        "CPT_PRIVATE": f"{home}/private",
        "CPT_PER_BOOT": f"{home}/per-boot",
        "HADOOP_CONF_DIR": f"{home}/etc/hadoop/conf",
        "CPT_INSTANCE_DIR": str(home),
        "CPT_INSTANCE_ID": instance.instance_id,
        "CPT_SHUTDOWN_MINUTE_SECONDS": str(instance.shutdown_minute_seconds),
        MARKER: str(state.root),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata,
    }


def make_tree(instance: Instance, environment: Mapping[str, str], image: Path | None) -> None:
    """Create the instance's directories, stand-ins, and `env`, the environment that its units start with.

    `image`: a directory whose files are there from the start; relative to `image` as they are to the instance's home.
    """
    home = instance.home
    if image is not None:
        shutil.copytree(image, home, dirs_exist_ok=True)
    for name in ("bin", "root", "tmp", "cpt/bin", "cpt/run", "units", "per-boot"):
        (home / name).mkdir(parents=True, exist_ok=True)
    for source in STAND_INS.iterdir():
        target = home / "bin" / source.name
        shutil.copyfile(source, target)
        target.chmod(0o755)
    aws = home / "bin/aws"
    aws.write_text(f'#!/bin/sh\nexec {shlex.quote(str(aws_command_line()))} "$@"\n', encoding="utf-8")
    aws.chmod(0o755)
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()]
    (home / "env").write_text("".join(lines), encoding="utf-8")


def forget_units(instance: Instance, state: StateDir) -> None:
    """Remove the instance's units, which are transient, and copy their logs beside the emulator's own."""
    target = state.logs / "instances" / instance.instance_id
    for log in instance.home.glob("units/*/log"):
        if log.stat().st_size == 0:
            continue
        target.mkdir(parents=True, exist_ok=True)
        with (target / f"{log.parent.name}.log").open("ab") as kept, log.open("rb") as of_unit:
            shutil.copyfileobj(of_unit, kept)
    shutil.rmtree(instance.home / "units", ignore_errors=True)
