"""A release from two clones at other paths, and a deployment from its files alone; `make release-check`."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree
from tests.paths import ROOT

pytestmark = only_full

# What a clone lacks and `make` puts there. The daemon is not compiled anew: it takes minutes.
INSTALLED = (".venv", ".tools", "node_modules")
BUILT = ("relay-ami/dist", "lambdas/requirements.txt", "lambdas/requirements.txt.sources")


def release(origin: Path, clone: Path, umask: int) -> Path:
    """What `make release` builds in a clone at that path."""
    subprocess.run(["git", "clone", "--quiet", str(origin), str(clone)], check=True)
    for name in INSTALLED:
        (clone / name).symlink_to((ROOT / name).resolve())
    for name in BUILT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, clone / name)
        else:
            shutil.copy(ROOT / name, clone / name)
    environment = {**os.environ, "UV_CACHE_DIR": str(ROOT / ".cache/uv")}
    command = [sys.executable, "-m", "tools.release", str(clone / "dist")]
    done = subprocess.run(command, cwd=clone, env=environment, umask=umask, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return clone / "dist"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    above = tmp_path_factory.mktemp("clones")
    first = release(ROOT, above / "one", 0o022)
    # Of the first: somebody may commit to this checkout meanwhile.
    return first, release(first.parent, above / "deep" / "down" / "another", 0o077)


@pytest.fixture(scope="module")
def unpacked(releases: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both archives of a release, unpacked beside each other."""
    folder = tmp_path_factory.mktemp("unpacked")
    for archive in releases[0].glob("*.tar.gz"):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    return folder


def test_two_clones_release_the_same_bytes(releases: tuple[Path, Path]) -> None:
    first, second = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in releases)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_the_checksums_are_those_of_all_files(releases: tuple[Path, Path]) -> None:
    lines = (releases[0] / "SHA256SUMS").read_text().splitlines()
    found = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {file.name: file for file in releases[0].iterdir() if file.name != "SHA256SUMS"}
    assert found == {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    kinds = {name.rpartition("-")[0] or name for name in files}
    assert {"cpt-relay", "CHANGELOG.md", "LICENSE", "LICENCES.txt", "sbom.cdx.json"} <= kinds
    assert {"cpt-deployment", "cpt-templates"} <= {name.rpartition("-")[0] for name in files}


def test_no_file_of_a_release_names_the_machine_that_built_it(unpacked: Path) -> None:
    named = [str(ROOT).encode(), str(Path(sys.prefix)).encode()]
    files = [file for file in unpacked.rglob("*") if file.is_file()]
    assert len(files) > 1000
    assert [str(file) for file in files if any(word in file.read_bytes() for word in named)] == []


def test_the_templates_alone_make_a_deployment_that_moves_data(unpacked: Path, tmp_path: Path) -> None:
    (assembly,) = unpacked.glob("cpt-templates-*")
    with LocalCloud(LocalConfig(port=0), tmp_path / "state", assembly) as cloud:
        account = Account(cloud, tmp_path)
        source = make_files(tmp_path / "set", large_bytes=1000)
        run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 1}), "from-a-release")
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        assert tree(tmp_path / "out" / "set") == tree(source)


def test_other_settings_are_synthesized_without_rust_a_compiler_or_uv(unpacked: Path, tmp_path: Path) -> None:
    (application,) = unpacked.glob("cpt-deployment-*")
    (assembly,) = unpacked.glob("cpt-templates-*")
    (application / "node_modules").symlink_to((ROOT / "node_modules").resolve())
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("node", "npx", "npm", "sh", "env", "uname"):
        (programs / name).symlink_to(str(shutil.which(name)))
    settings = json.loads((application / "cdk.json").read_text())["context"]["cpt"]
    for chosen, made in ((settings, "same"), ({**settings, "name": "blue"}, "other")):
        context = ["-c", f"cpt={json.dumps(chosen)}", "--output", str(tmp_path / made)]
        environment = {"PATH": str(programs), "HOME": str(tmp_path)}
        command = ["npx", "--no-install", "cdk", "synth", "--quiet", *context]
        subprocess.run(command, cwd=application, env=environment, check=True, capture_output=True, timeout=240)
    for template in assembly.glob("*.template.json"):
        assert template.read_text() == (tmp_path / "same" / template.name).read_text()
    assert (tmp_path / "other" / "blue-control.template.json").exists()
