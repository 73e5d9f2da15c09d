"""`make daemon-arm64` stops before it compiles where a tool is missing, and says how to get it."""

import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[1] / "tools" / "check-arm64.sh"
RUSTUP = "Run: rustup target add aarch64-unknown-linux-gnu"
PACKAGES = "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"


def tool(folder: Path, name: str, answer: Path | str) -> None:
    """A program that prints `answer`, whatever it is asked."""
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)


def check(tmp_path: Path, *, library: bool, compiler: bool, archive: bool) -> subprocess.CompletedProcess[str]:
    """Run the check where just these are installed: Rust's library, the cross compiler, its static C library."""
    tool(tmp_path, "rustc", tmp_path)
    if library:
        (tmp_path / "libstd-0.rlib").touch()
    if archive:
        (tmp_path / "libc.a").touch()
    if compiler:
        tool(tmp_path, "aarch64-linux-gnu-gcc", tmp_path / "libc.a" if archive else "libc.a")
    return subprocess.run(["/bin/bash", CHECK], env={"PATH": str(tmp_path)}, text=True, capture_output=True)


@pytest.mark.parametrize(
    ("library", "compiler", "archive", "remedies"),
    [
        (False, True, True, [RUSTUP]),
        (True, False, False, [PACKAGES]),
        (True, True, False, [PACKAGES]),
        (False, False, False, [RUSTUP, PACKAGES]),
    ],
)
def test_what_is_missing_is_named_with_the_command(
    tmp_path: Path, library: bool, compiler: bool, archive: bool, remedies: list[str]
) -> None:
    result = check(tmp_path, library=library, compiler=compiler, archive=archive)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert [line.endswith(remedy) for line, remedy in zip(lines, remedies, strict=True)] == [True] * len(remedies)


def test_complete_tools_are_accepted_silently(tmp_path: Path) -> None:
    result = check(tmp_path, library=True, compiler=True, archive=True)
    assert (result.returncode, result.stderr) == (0, "")
