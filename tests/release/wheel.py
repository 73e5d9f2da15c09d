"""The package as people install it: its wheel in an environment of its own."""

import os
import subprocess
from pathlib import Path

from tests.paths import ROOT

# Where a checkout has it, else the user's own.
UV = next((str(path) for path in [ROOT / ".tools" / "bin" / "uv"] if path.exists()), "uv")


def build(folder: Path) -> Path:
    """The wheel of this checkout, built into `folder`."""
    _run(UV, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """An empty environment in `folder` with the wheel and what it requires; returns its command `cpt`."""
    _run(UV, "venv", "--quiet", str(folder))
    # Links: a copy of botocore takes seconds. No bytecode beforehand, for the same reason.
    options = ["--link-mode", "hardlink", "--python", str(folder / "bin" / "python")]
    _run(UV, "pip", "install", "--quiet", *options, str(wheel))
    return folder / "bin" / "cpt"


def _run(*command: str) -> None:
    # The environment of the tests' own Python would be the one that is changed.
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120)
