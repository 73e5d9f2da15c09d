"""The daemons of a release, compiled in two clones at other paths, as `make release` does; 10 to 30 minutes."""

import subprocess
from pathlib import Path

import pytest

from tests.chaos.extent import only_full
from tests.paths import ROOT

pytestmark = [only_full, pytest.mark.timeout(7_200)]

# `e_machine` of an ELF header.
MACHINES = {"x86_64": 0x3E, "arm64": 0xB7}


def compiled(origin: Path, clone: Path) -> dict[str, bytes]:
    """The daemons that a clone at that path compiles, by processor."""
    subprocess.run(["git", "clone", "--quiet", str(origin), str(clone)], check=True)
    command = ["tools/release/daemons.sh", "relay-ami/relay/Cargo.lock"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {file.parent.name: file.read_bytes() for file in (clone / "relay-ami" / "dist").glob("*/cpt-relay")}


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, bytes]]:
    above = tmp_path_factory.mktemp("clones")
    first = compiled(ROOT, above / "one")
    # Of the first: somebody may commit to this checkout meanwhile.
    return first, compiled(above / "one", above / "deep" / "down" / "another")


@pytest.mark.parametrize("processor", MACHINES)
def test_two_clones_compile_the_same_bytes(daemons: tuple[dict[str, bytes], dict[str, bytes]], processor: str) -> None:
    first, second = daemons
    if processor not in first:
        lacks = subprocess.run([ROOT / "tools/check-arm64.sh"], capture_output=True, text=True, check=False).stderr
        pytest.skip(lacks.strip())
    assert int.from_bytes(first[processor][18:20], "little") == MACHINES[processor]
    assert first[processor] == second[processor]


def test_no_daemon_names_the_machine_that_compiled_it(daemons: tuple[dict[str, bytes], dict[str, bytes]]) -> None:
    names = [str(Path.home()).encode(), b"/clones0/", b"/deep/down/another"]
    found = [(processor, name) for processor, file in daemons[1].items() for name in names if name in file]
    assert found == []
