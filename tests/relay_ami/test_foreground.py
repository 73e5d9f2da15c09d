"""What a machine says of a daemon that fails in the foreground."""

import os
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

DOCUMENTS = Path(__file__).parents[2] / "infra" / "ssm-documents"
SSM_ERROR_CHARACTERS = 8_000


def run(tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    """The document's script with this program as the daemon."""
    daemon = tmp_path / "daemon"
    daemon.write_text(f"#!/bin/sh\n{program}\n")
    daemon.chmod(0o755)
    parts = "".join((DOCUMENTS / name).read_text() for name in ("preamble.sh", "foreground.sh"))
    return subprocess.run(
        ["sh", "-c", f'{parts}\nbin="{daemon}"\nrun_daemon scan'],
        env={
            "PATH": os.environ["PATH"],
            "CPT_HOME": str(tmp_path / "home"),
            "SSM_TransferId": "t",
            "SSM_Command": urlsafe_b64encode(b"{}").decode(),
        },
        text=True,
        capture_output=True,
        check=False,
    )


def test_why_it_failed_is_within_what_ssm_keeps_however_much_it_said_before(tmp_path: Path) -> None:
    done = run(tmp_path, "seq -f 'skipped file %g' 10000 >&2; echo 'no space left' >&2; exit 3")
    assert done.returncode == 3
    assert len(done.stderr) < SSM_ERROR_CHARACTERS
    assert done.stderr.endswith("no space left\n")


def test_its_answer_is_the_output_and_nothing_of_it_stays_on_the_machine(tmp_path: Path) -> None:
    done = run(tmp_path, "echo '{}'")
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert not [*(tmp_path / "home" / "run" / "t").iterdir()]
