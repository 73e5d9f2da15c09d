"""The programs that stand in for those of a real machine refuse what those would refuse."""

import subprocess
from pathlib import Path

import pytest

SYSTEMD_RUN = Path(__file__).parents[2] / "local" / "instances" / "bin" / "systemd-run"


@pytest.mark.parametrize("option", [["--property=ProtectSytem=strict"], ["-p", "ProtectSytem=strict"]])
def test_a_property_that_systemd_does_not_know_is_refused(tmp_path: Path, option: list[str]) -> None:
    command = [str(SYSTEMD_RUN), "--unit=u", "--property=ProtectSystem=strict", *option, "true"]
    ended = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", "CPT_INSTANCE_DIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (1, "systemd-run: Unknown assignment: ProtectSytem=strict\n")
    assert not (tmp_path / "units").exists()
