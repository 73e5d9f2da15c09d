"""Checks on Lambda functions before they are deployed: what a local run would hide and AWS would refuse."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

UNZIPPED_BYTES = 250 * 1024 * 1024
ENVIRONMENT_BYTES = 4096
ELF_MACHINES = {62: "x86_64", 183: "arm64"}
RUNTIMES = ("python3.11",)


class AssetError(Exception):
    """A function cannot run on Lambda as it is; the message names the function, the value and the limit."""


def check_function(name: str, properties: dict[str, Any], code: Path) -> None:
    """Architecture of native libraries, modes, runtime, unzipped size, environment. Raises AssetError."""
    runtime = properties.get("Runtime")
    if runtime not in RUNTIMES:
        raise AssetError(f"function {name}: runtime {runtime} cannot run here; this machine runs {', '.join(RUNTIMES)}")
    architecture = (properties.get("Architectures") or ["x86_64"])[0]
    size = sum(path.stat().st_size for path in code.rglob("*") if path.is_file())
    if size > UNZIPPED_BYTES:
        raise AssetError(f"function {name}: {size} bytes unzipped; Lambda takes {UNZIPPED_BYTES}")
    for path in code.rglob("*"):
        needed = 0o555 if path.is_dir() else 0o444
        if path.stat().st_mode & needed != needed:
            raise AssetError(
                f"function {name}: mode {path.stat().st_mode & 0o777:o} of {path.relative_to(code)} hides it "
                "from the user as whom functions run; synthesize anew"
            )
    for path, machine in native_libraries(code):
        if machine != architecture:
            raise AssetError(
                f"function {name}: {path.relative_to(code)} is built for {machine}, "
                f"the function is declared {architecture}"
            )
    variables = (properties.get("Environment") or {}).get("Variables", {})
    used = sum(len(key) + len(str(value)) for key, value in variables.items())
    if used > ENVIRONMENT_BYTES:
        raise AssetError(f"function {name}: environment of {used} bytes; Lambda takes {ENVIRONMENT_BYTES}")


def native_libraries(code: Path) -> Iterator[tuple[Path, str]]:
    """Shared objects below `code` with the architecture in their ELF header."""
    for path in sorted(code.rglob("*.so*")):
        with path.open("rb") as file:
            header = file.read(20)
        if header[:4] == b"\x7fELF":
            machine = struct.unpack_from("<H", header, 18)[0]
            yield path, ELF_MACHINES.get(machine, f"machine {machine}")
