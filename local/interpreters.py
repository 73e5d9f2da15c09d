"""The Python that runs functions: that of their runtime where this machine has it, else the local cloud's own.

Under another Python than its runtime's, an asset's native wheels do not load: the local cloud's own packages, which
come from the same lock file, stand in for exactly those.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

OWN = f"python{sys.version_info.major}.{sys.version_info.minor}"
ASK = "import sys; print(f'python{sys.version_info.major}.{sys.version_info.minor} {sys.executable}')"


class OtherVersionError(Exception):
    """A package of the asset cannot be replaced by the local cloud's own, which has another version of it."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that runs functions."""

    name: str
    executable: str


@cache
def interpreter_of(runtime: str) -> Interpreter:
    """The Python that runs functions of `runtime` on this machine."""
    return chosen(runtime, candidates(runtime))


def chosen(runtime: str, programs: Iterable[str]) -> Interpreter:
    """The first of `programs` that is the runtime's Python; this process's own if none is."""
    for program in programs:
        name, _, executable = _asked(program).partition(" ")
        if name == runtime:
            return Interpreter(name, executable)
    return Interpreter(OWN, sys.executable)


def candidates(runtime: str) -> Iterator[str]:
    """Programs that may be the runtime's Python: this one, that of its name on the path, and those that pyenv keeps."""
    if runtime == OWN:
        yield sys.executable
    named = shutil.which(runtime)
    if named:
        yield named
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from map(str, sorted(kept.glob(f"{runtime.removeprefix('python')}.*/bin/{runtime}")))


def note(runtime: str) -> str | None:
    """Return what to tell a person whose functions are run by another Python than on AWS."""
    used = interpreter_of(runtime).name
    return None if used == runtime else f"{used} runs the functions, as there is no {runtime} here; AWS runs {runtime}"


def native_packages(code: Path) -> dict[str, str]:
    """Versions of the packages of an asset that hold native code, by name."""
    found = {}
    for wheel in sorted(code.glob("*.dist-info/WHEEL")):
        if not re.search(r"^Tag: .*-none-any$", wheel.read_text(encoding="utf-8"), re.MULTILINE):
            name, _, version = wheel.parent.name.removesuffix(".dist-info").rpartition("-")
            found[name] = version
    return found


def lay_substitutes(code: Path, target: Path) -> None:
    """Link this process's own packages into `target` for all that hold native code in the asset.

    Raises OtherVersionError.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name, version in native_packages(code).items():
        own = metadata.distribution(name)
        if own.version != version:
            raise OtherVersionError(f"the asset has {name} {version}, this Python {own.version}: run `make synth`")
        for top in {path.parts[0] for path in own.files or () if path.parts[0] != ".."}:
            link = target / top
            if not link.exists():
                link.symlink_to(Path(str(own.locate_file(top))))


def _asked(program: str) -> str:
    try:
        asked = [program, "-S", "-E", "-c", ASK]
        return subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
