"""What benchmarks on emulated machines need of this one."""

import os
from pathlib import Path

import pytest

from bench import machine


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert any("need root" in problem for problem in machine.unmet())


def test_missing_daemon_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "DAEMON", tmp_path / "cpt-relay")
    assert any("make daemon" in problem for problem in machine.unmet())


def test_workspace_is_gone_afterwards() -> None:
    with machine.workspace("cpt-test-") as work:
        (work / "file").touch()
    assert not work.exists()
