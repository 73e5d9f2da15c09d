"""`make release`: builds into a folder, `dist` unless another is given, what a release holds."""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tools.release.archive import below, write
from tools.release.components import DAEMON, ROOT, UV, components
from tools.release.lists import licences, sbom

DAEMONS = ROOT / "relay-ami" / "dist"
PARTS = ("x86_64", "arm64")
# Of a synthesis: beside these it writes where it ran, and how fast.
_DEPLOYED = re.compile(r"cdk\.out|asset\.|[^/]+\.(template|assets)\.json")
REQUIREMENTS = "lambdas/requirements.txt"
# What the CDK's application reads, and the scripts of an image of one's own; of the docs what people read beside it.
APPLICATION = (
    "infra", "statemachine", "lambdas", "contracts", "relay-ami/image", "docs", "cdk.json", "package.json",
    "package-lock.json", "tsconfig.json", "README.md", "CHANGELOG.md", "LICENSE",
)  # fmt: skip


def main() -> int:
    """Build it; the folder is emptied before."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    folder: Path = parser.parse_args().folder.absolute()
    version = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
    epoch = _epoch()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _wheel(folder, epoch)
    for part in PARTS:
        if (DAEMONS / part / DAEMON).exists():
            shutil.copy(DAEMONS / part / DAEMON, folder / f"{DAEMON}-{part}")
        else:
            print(f"release: without the daemon for {part}, which is not built here")
    with tempfile.TemporaryDirectory() as assembly:
        write(folder / f"cpt-templates-{version}.tar.gz", f"cpt-templates-{version}", _templates(Path(assembly)), epoch)
    # After the synthesis, which installs the functions' packages where they are not.
    write(folder / f"cpt-deployment-{version}.tar.gz", f"cpt-deployment-{version}", _deployment(), epoch)
    found = components()
    (folder / "sbom.cdx.json").write_bytes(sbom(found, version, epoch))
    (folder / "LICENCES.txt").write_bytes(licences(found))
    for name in ("CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    sums = "".join(f"{_sha256(file)}  {file.name}\n" for file in sorted(folder.iterdir()))
    (folder / "SHA256SUMS").write_text(sums)
    print(f"release: {version} in {folder}\n{sums}", end="")
    return 0


def _epoch() -> int:
    """The time that files of the release have: SOURCE_DATE_EPOCH, else that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or _git("log", "-1", "--format=%ct"))


def _wheel(folder: Path, epoch: int) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], env=environment, check=True)
    (folder / ".gitignore").unlink(missing_ok=True)


def _deployment() -> dict[str, Path | bytes]:
    """The CDK's application, and what it deploys, built: neither Rust nor a compiler, nor uv, is needed any more."""
    files: dict[str, Path | bytes] = {
        name: ROOT / name for name in _git("ls-files", "-z", "--", *APPLICATION).split("\0") if name
    }
    built = [f"relay-ami/dist/{part}/{DAEMON}" for part in PARTS if (DAEMONS / part / DAEMON).exists()]
    for name in [*built, REQUIREMENTS]:
        files[name] = ROOT / name
        # Its sources are not here: that it is itself is what a synthesis can check.
        files[f"{name}.sources"] = f"{_sha256(ROOT / name)}  {name}\n".encode()
    packages = Path(_tsx("console.log(require('./infra/lib/constructs/python-code').dependenciesFolder())"))
    for name, file in below(packages).items():
        files[f"{packages.relative_to(ROOT.resolve())}/{name}"] = file
    return files


def _templates(assembly: Path) -> dict[str, Path | bytes]:
    """The settings of cdk.json synthesized; without what the CDK writes about its own run on this machine."""
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", "--output", str(assembly)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads((assembly / "manifest.json").read_text())
    artifacts = {key: one for key, one in manifest["artifacts"].items() if one["type"] != "cdk:tree"}
    for one in artifacts.values():
        one.pop("additionalMetadataFile", None)
    manifest["artifacts"] = artifacts
    files: dict[str, Path | bytes] = {name: file for name, file in below(assembly).items() if _DEPLOYED.match(name)}
    files["manifest.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    return files


def _tsx(script: str) -> str:
    command = ["npx", "--no-install", "tsx", "-e", script]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
