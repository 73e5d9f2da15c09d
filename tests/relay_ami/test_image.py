"""The image's build and validation steps, run in a root file system made from Debian's packages.

Amazon Linux 2023 is not to be had here: shell, coreutils and systemd are Debian's (252, as there), and the two packages
that `packages.sh` installs are stand-ins.
"""

import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "relay-ami" / "image"
DAEMON = ROOT / "relay-ami" / "dist" / "x86_64" / "cpt-relay"
PACKAGES = ["bash", "coreutils", "dash", "findutils", "grep", "sed", "systemd"]
LEFT_OUT = ("/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/info")
MERGED = ("bin", "sbin", "lib", "lib64")
AGENT = "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def with_dependencies(packages: list[str]) -> set[str]:
    """Installed packages that these need, by the first of each alternative."""
    fields = "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
    listed = subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, text=True, check=True).stdout
    needs: dict[str, list[str]] = {}
    provided: dict[str, str] = {}
    for line in listed.splitlines():
        package, provides, depends = re.sub(r"\([^)]*\)", "", line).split("\t")
        needs[package] = [one.split("|")[0].split(":")[0].strip() for one in depends.split(",")]
        provided |= {name.strip(): package for name in provides.split(",") if name.strip()}
    found: set[str] = set()
    todo = list(packages)
    while todo:
        name = todo.pop()
        package = name if name in needs else provided.get(name, "")
        if package and package not in found:
            found.add(package)
            todo += needs[package]
    return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system before anything is built in it."""
    if not shutil.which("dpkg-query") or not shutil.which("systemd-analyze"):
        pytest.skip("its packages come from Debian's systemd and dpkg, which are not installed here")
    root = tmp_path_factory.mktemp("root")
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    command = ["dpkg-query", "-L", *sorted(with_dependencies(PACKAGES))]
    files = {
        line[1:]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        if line.startswith("/") and not line.startswith(LEFT_OUT) and line[1:] not in ("", ".", *MERGED)
    }
    with subprocess.Popen(
        ["tar", "-C", "/", "--no-recursion", "-c", "-T", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as packing:
        assert packing.stdin is not None
        packing.stdin.write("\n".join(sorted(f for f in files if os.path.lexists(f"/{f}"))).encode())
        packing.stdin.close()
        unpack = ["tar", "-C", str(root), "--keep-directory-symlink", "--no-same-owner", "-x"]
        subprocess.run(unpack, stdin=packing.stdout, check=True)
    (root / "etc/systemd/system/amazon-ssm-agent.service").write_text(AGENT)
    (root / "usr/bin/aws").write_text("#!/bin/sh\n")
    (root / "usr/bin/aws").chmod(0o755)
    inside(root, "systemctl --root=/ enable amazon-ssm-agent")
    return root


@pytest.fixture
def machine(fresh: Path, tmp_path: Path) -> Path:
    """One of its own for each test; files are shared until somebody replaces them."""
    root = tmp_path / "machine"
    shutil.copytree(fresh, root, symlinks=True, copy_function=os.link)
    return root


def inside(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with `root` as its file system."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    start = 'mkdir -p "$0/proc" && mount --rbind /proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"'
    command = ["unshare", *as_root, "--mount", "/bin/sh", "-c", start, str(root), script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def build(root: Path, digest: str | None = None) -> subprocess.CompletedProcess[str]:
    """What the pipeline's build phase does once it has fetched the files."""
    staging = root / "tmp" / "cpt-image"
    shutil.copytree(IMAGE, staging / "image")
    shutil.copy(DAEMON, staging / "cpt-relay")
    run = inside(root, f"sh /tmp/cpt-image/image/build.sh /tmp/cpt-image/cpt-relay {digest or daemon_digest()}")
    shutil.rmtree(staging)
    return run


def daemon_digest() -> str:
    return sha256(DAEMON.read_bytes()).hexdigest()


def validate(root: Path) -> subprocess.CompletedProcess[str]:
    return inside(root, f"sh /opt/cpt/image/validate.sh files {daemon_digest()}")


def test_what_was_built_is_valid_and_the_documents_fetch_nothing(machine: Path) -> None:
    built = build(machine)
    assert (built.returncode, built.stderr) == (0, "")
    checked = validate(machine)
    assert (checked.returncode, checked.stderr) == (0, "")
    # infra/ssm-documents/daemon.sh looks for exactly this, and goes on where it is there.
    assert os.access(machine / "opt/cpt/bin" / f"cpt-relay-{daemon_digest()}", os.X_OK)
    for file in (IMAGE / "rootfs").rglob("*"):
        if file.is_file():
            assert (machine / file.relative_to(IMAGE / "rootfs")).read_bytes() == file.read_bytes()


def test_daemon_of_another_build_is_not_installed(machine: Path) -> None:
    built = build(machine, digest="0" * 64)
    assert built.returncode == 1
    assert f"does not hash to {'0' * 64}" in built.stderr
    assert not (machine / "opt/cpt").exists()


def replace(file: Path, text: str) -> None:
    """A file of its own: hard links are shared with other machines."""
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("root/.aws/credentials", "[default]", "/root/.aws is left over"),
        ("root/.ssh/authorized_keys", "ssh-ed25519 AAAA", "/root/.ssh/authorized_keys is left over"),
        ("tmp/cpt-image/cpt-relay", "", "/tmp/cpt-image is left over"),
        ("opt/cpt/bin/cpt-relay-old", "", "cpt-relay-old is of another build"),
        ("etc/systemd/system/cpt-relay-.service.d/50-image.conf", "[Service]\nProtectHme=yes\n", "Unknown key"),
    ],
)
def test_validation_fails_on(machine: Path, path: str, text: str, complaint: str) -> None:
    build(machine)
    replace(machine / path, text)
    checked = validate(machine)
    assert checked.returncode == 1
    assert complaint in checked.stderr


def test_validation_fails_without_agent_daemon_or_command_line_and_says_all_of_it(machine: Path) -> None:
    build(machine)
    inside(machine, "systemctl --root=/ disable amazon-ssm-agent")
    (machine / "usr/bin/aws").unlink()
    (machine / "opt/cpt/bin" / f"cpt-relay-{daemon_digest()}").unlink()
    checked = validate(machine)
    assert checked.returncode == 1
    for complaint in ("amazon-ssm-agent is not enabled", "AWS command line is missing", "does not run here"):
        assert complaint in checked.stderr


def test_a_kernel_with_other_settings_is_no_relay(machine: Path) -> None:
    build(machine)
    replace(machine / "etc/sysctl.d/90-cpt.conf", "net.core.somaxconn = 1\n")
    checked = inside(machine, "sh /opt/cpt/image/validate.sh booted")
    assert checked.returncode == 1
    assert re.search(r"cpt: net/core/somaxconn is '\d+', not '1'", checked.stderr)


def test_scripts_are_clean() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    run = subprocess.run(["shellcheck", *IMAGE.glob("*.sh")], capture_output=True, text=True, check=False)
    assert run.stdout == ""
