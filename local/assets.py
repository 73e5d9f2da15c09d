"""Checks on Lambda functions before they are deployed: what a local run would hide and AWS would refuse."""

from __future__ import annotations

import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.facts import fact

UNZIPPED_BYTES = fact("lambda-unzipped-bytes")
ENVIRONMENT_BYTES = fact("lambda-environment-bytes")
ELF_MACHINES = {62: "x86_64", 183: "arm64"}
# Those that the code is written for (`requires-python`), with the C library of their machines: Amazon Linux 2 under
# 3.11, and 2023 under the later ones.
GLIBC = {"python3.11": (2, 26), "python3.12": (2, 34), "python3.13": (2, 34)}
WHEEL_TAG = re.compile(r"^Tag: (?P<python>\S+?)-(?P<abi>\S+?)-(?P<platform>\S+)$", re.MULTILINE)
MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


class AssetError(Exception):
    """A function cannot run on Lambda as it is; the message names the function, the value and the limit."""


@dataclass(frozen=True)
class Code:
    """What is checked of a directory that functions are made of; functions that share it need not look again."""

    size_bytes: int
    # With their modes: what the user as whom functions run cannot read.
    hidden: tuple[tuple[Path, int], ...]
    # With the architectures in their ELF headers.
    native_libraries: tuple[tuple[Path, str], ...]
    # Tags of each package.
    wheels: tuple[tuple[str, tuple[dict[str, str], ...]], ...]

    @classmethod
    def read(cls, folder: Path) -> Code:
        """All paths are relative to `folder`."""
        size, hidden = 0, []
        for path in folder.rglob("*"):
            status = path.stat()
            needed = 0o555 if stat.S_ISDIR(status.st_mode) else 0o444
            if stat.S_ISREG(status.st_mode):
                size += status.st_size
            if status.st_mode & needed != needed:
                hidden.append((path.relative_to(folder), status.st_mode & 0o777))
        wheels = tuple(
            (path.parent.name, tuple(match.groupdict() for match in WHEEL_TAG.finditer(path.read_text("utf-8"))))
            for path in sorted(folder.glob("*.dist-info/WHEEL"))
        )
        libraries = ((path.relative_to(folder), machine) for path, machine in _native_libraries(folder))
        return cls(size, tuple(hidden), tuple(libraries), wheels)


def check_function(name: str, properties: dict[str, Any], code: Code) -> None:
    """Native code against architecture and runtime; modes, unzipped size, environment. Raises AssetError."""
    runtime = str(properties.get("Runtime"))
    if runtime not in GLIBC:
        raise AssetError(f"function {name}: runtime {runtime} is none that the code is written for: {', '.join(GLIBC)}")
    architecture = (properties.get("Architectures") or ["x86_64"])[0]
    if code.size_bytes > UNZIPPED_BYTES:
        raise AssetError(f"function {name}: {code.size_bytes} bytes unzipped; Lambda takes {UNZIPPED_BYTES}")
    for path, mode in code.hidden:
        raise AssetError(
            f"function {name}: mode {mode:o} of {path} hides it from the user as whom functions run; synthesize anew"
        )
    wanted = f"cpython-{_digits(runtime)}-"
    for path, machine in code.native_libraries:
        if "cpython-" in path.name and wanted not in path.name:
            raise AssetError(f"function {name}: {path} loads in another Python, the function is declared {runtime}")
        if machine != architecture:
            raise AssetError(f"function {name}: {path} is built for {machine}, the function is declared {architecture}")
    for package, tags in code.wheels:
        if not any(_fits(tag, runtime, architecture) for tag in tags):
            told = ", ".join("-".join(tag.values()) for tag in tags)
            raise AssetError(f"function {name}: {package} is built for {told}, the function is declared {runtime}")
    variables = (properties.get("Environment") or {}).get("Variables", {})
    used = sum(len(key) + len(str(value)) for key, value in variables.items())
    if used > ENVIRONMENT_BYTES:
        raise AssetError(f"function {name}: environment of {used} bytes; Lambda takes {ENVIRONMENT_BYTES}")


def _native_libraries(folder: Path) -> Iterator[tuple[Path, str]]:
    """Shared objects with the architecture in their ELF header."""
    for path in sorted(folder.rglob("*.so*")):
        with path.open("rb") as file:
            header = file.read(20)
        if header[:4] == b"\x7fELF":
            machine = struct.unpack_from("<H", header, 18)[0]
            yield path, ELF_MACHINES.get(machine, f"machine {machine}")


def _fits(tag: dict[str, str], runtime: str, architecture: str) -> bool:
    """Return whether a wheel of this tag installs on the runtime's machines."""
    if tag["abi"] == "none" and tag["platform"] == "any":
        return "py3" in tag["python"].split(".")
    version, needed = _digits(runtime), re.fullmatch(r"cp3(\d+)", tag["python"])
    own = tag["python"] == tag["abi"] == f"cp{version}"
    stable = tag["abi"] == "abi3" and needed is not None and int(needed[1]) <= int(version[1:])
    return (own or stable) and any(_loads(one, runtime, architecture) for one in tag["platform"].split("."))


def _loads(platform: str, runtime: str, architecture: str) -> bool:
    """Return whether the runtime's C library is at least the one that a wheel was linked for, on its processor."""
    machine = {"x86_64": "x86_64", "arm64": "aarch64"}[architecture]
    linked, _, rest = platform.partition(f"_{machine}")
    numbered = re.fullmatch(r"manylinux_(\d+)_(\d+)", linked)
    glibc = (int(numbered[1]), int(numbered[2])) if numbered else MANYLINUX.get(linked, (99, 0))
    return platform.endswith(machine) and not rest and glibc <= GLIBC[runtime]


def _digits(runtime: str) -> str:
    return runtime.removeprefix("python").replace(".", "")
