"""Emulators and functions that are forked from a process which has loaded what they share, and those that are not."""

import os
import signal
from pathlib import Path

import pytest

from local import nursery
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.local.conftest import invoke


def started(state: Path, assembly: Path | None = None) -> LocalCloud:
    cloud = LocalCloud(LocalConfig(port=0), state, assembly)
    cloud.start()
    return cloud


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def emulator(cloud: LocalCloud) -> int:
    return int(str((cloud.state.read() or {})["pid"]))


def test_without_one_an_emulator_is_a_program_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(nursery.VARIABLE)
    cloud = started(tmp_path)
    assert "local.emulator" in command(emulator(cloud))
    cloud.stop()
    assert cloud.state.processes() == []


def test_functions_of_all_clouds_are_forked_from_one_process_and_end_with_their_cloud(
    tmp_path: Path, assembly_path: Path
) -> None:
    clouds = [started(tmp_path / name, assembly_path) for name in ("a", "b with space")]
    answers = [invoke(cloud, action="identity") for cloud in clouds]
    assert [error for error, _ in answers] == [None, None]
    functions = [[pid for pid in cloud.state.processes() if pid != emulator(cloud)] for cloud in clouds]
    assert all(functions)
    first, second = clouds
    first.stop()
    assert first.state.processes() == []
    assert set(functions[1]) <= set(second.state.processes())
    assert invoke(second, action="identity")[0] is None
    second.stop()
    assert second.state.processes() == []


def test_an_emulator_outlives_the_process_that_it_was_forked_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(nursery.VARIABLE, str(tmp_path / "nursery"))
    first = started(tmp_path / "first")
    nurseries = [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and is_nursery(entry, tmp_path)
    ]
    (parent,) = set(nurseries) - {emulator(first)}
    os.kill(parent, signal.SIGKILL)
    second = started(tmp_path / "second")
    for cloud in (first, second):
        assert cloud.client("sts").get_caller_identity()["Account"] == cloud.config.account
        cloud.stop()
        assert cloud.state.processes() == []


def is_nursery(entry: Path, folder: Path) -> bool:
    try:
        return f"{folder}/nursery.emulators" in (entry / "cmdline").read_text()
    except OSError:
        return False
