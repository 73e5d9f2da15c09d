"""`cpt` from its wheel, in an empty environment and a directory without a checkout, against a running deployment."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.exit_codes import ExitCode
from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files, tree
from tests.release.wheel import build, install

Cpt = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    return install(build(folder), folder / "environment")


@pytest.fixture
def cpt(command: Path, account: Account, tmp_path: Path) -> Cpt:
    """Runs the installed command as a cron job would: few variables, and a small file that names the deployment."""
    configuration = tmp_path / "home/.config/cpt/config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[deployment]\nregion = "{HOME}"\n')
    environment = {
        "HOME": str(tmp_path / "home"),
        "PATH": os.defpath,
        "AWS_ENDPOINT_URL": account.cloud.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        arguments = [str(command), *map(str, words)]
        return subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_a_whole_transfer(cpt: Cpt, account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    written = cpt("request", account.source, source, account.destination, tmp_path / "out")
    assert written.returncode == ExitCode.SUCCEEDED, written.stderr
    request = tmp_path / "request.json"
    request.write_text(json.dumps({**json.loads(written.stdout), "relays": {"pairs": 0}, "preTest": False}))
    moved = cpt("start", request, "--name", "installed", "--watch")
    assert moved.returncode == ExitCode.SUCCEEDED, moved.stdout + moved.stderr
    assert tree(tmp_path / "out" / "set") == tree(source)
    page = tmp_path / "report.html"
    assert cpt("report", "installed", "--html", page).returncode == ExitCode.SUCCEEDED
    assert "installed" in page.read_text()
    looked = cpt("doctor", request, "--json")
    assert {"deployment", "request"} <= {json.loads(one)["check"] for one in looked.stdout.splitlines()}
    assert "Traceback" not in looked.stderr


def test_what_needs_a_checkout_says_so(cpt: Cpt) -> None:
    answer = cpt("local", "up")
    assert (answer.returncode, answer.stdout) == (ExitCode.USAGE, "")
    assert answer.stderr.startswith("cpt: cpt local needs a checkout")
