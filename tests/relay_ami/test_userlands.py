"""The daemon on machines whose C library is another than the one that it was linked with, or that have none.

`make userlands` adds whole userlands of other distributions, which are directories of `CPT_USERLANDS`.
"""

import ctypes
import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from local.cloud import namespaces_available

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "relay-ami" / "dist" / "x86_64" / "cpt-relay"
EXAMPLE = ROOT / "contracts" / "examples" / "good" / "relay-command" / "scan-source.json"
NAME = "s3.us-west-2.cpt.test"
IN_CLOSE_NOWRITE = 0x10
NAMESPACE = f"cpt-userland-{os.getpid()}"

pytestmark = pytest.mark.skipif(not namespaces_available(), reason="namespaces need root, iproute2 and nftables")

# Debian 13's, one that asks systemd-resolved alone, and the plain one.
HOSTS_LINES = ("files myhostname resolve [!UNAVAIL=return] dns", "resolve", "files dns")
# Where Debian, Amazon Linux and SUSE keep the certificates that they trust.
BUNDLES = ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem")
FOLDER = os.environ.get("CPT_USERLANDS")
USERLANDS = sorted(path for path in Path(FOLDER).iterdir() if path.is_dir()) if FOLDER else []


class Services:
    """S3, metadata and names of the namespace."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.ports = json.loads(self._line())

    def names(self, mode: str) -> None:
        """What the name server does from now on."""
        assert self._process.stdin
        self._process.stdin.write(f"{mode}\n")
        self._process.stdin.flush()
        self._line()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA) -> Iterator[Services]:
    work = tmp_path_factory.mktemp("services")
    certificate = work / "certificate.pem"
    authority.issue_cert(NAME, f"control.{NAME}").private_key_and_cert_chain_pem.write_to_path(certificate)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        subprocess.run(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"], check=True)
        command = ["python", "-m", "tests.relay_ami.foreign_services", str(certificate), NAME, str(work / "state")]
        with subprocess.Popen(
            ["ip", "netns", "exec", NAMESPACE, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            yield Services(process)
            process.communicate(timeout=30)  # its input ends, and it stops its cloud; killed, it leaves that behind
    finally:
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


@pytest.fixture(params=["nothing", *USERLANDS], ids=["nothing", *(path.name for path in USERLANDS)])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Root directory of a machine: nothing but the daemon and its data, or a distribution with these."""
    root = tmp_path / "root"
    (root / "dev").mkdir(parents=True)
    if request.param == "nothing":
        for name, minor in (("random", 8), ("urandom", 9)):
            os.mknod(root / "dev" / name, stat.S_IFCHR | 0o444, os.makedev(1, minor))
    else:
        for name in ("upper", "work"):
            (tmp_path / name).mkdir()
        layers = f"lowerdir={request.param},upperdir={tmp_path}/upper,workdir={tmp_path}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, root], check=True)
    copy(PROGRAM, root / "cpt-relay")
    (root / "data" / "set-1").mkdir(parents=True)
    (root / "data" / "set-1" / "file").write_bytes(b"content")
    copy(EXAMPLE, root / "command.json")
    write(root / "etc" / "resolv.conf", "nameserver 127.0.0.1\n")
    write(root / "etc" / "hosts", "127.0.0.1 localhost\n")
    yield root
    if request.param != "nothing":
        subprocess.run(["umount", root], check=True)


def copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())
    target.chmod(source.stat().st_mode)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)


@contextmanager
def opened(path: Path) -> Iterator[Callable[[], object]]:
    """What it gives returns once somebody has opened the file and closed it again."""
    library = ctypes.CDLL(None)
    watch = library.inotify_init1(0)
    try:
        assert library.inotify_add_watch(watch, os.fsencode(path), IN_CLOSE_NOWRITE) >= 0
        yield lambda: os.read(watch, 4096)
    finally:
        os.close(watch)


def start(machine: Path, services: Services) -> subprocess.Popen[str]:
    """Start a scan of the source, whose listing goes to S3 by its name."""
    environment = {
        "AWS_ENDPOINT_URL": f"https://{NAME}:{services.ports['https']}",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{services.ports['metadata']}",
    }
    program = ["chroot", str(machine), "/cpt-relay", "scan", "--command", "/command.json"]
    return subprocess.Popen(
        ["ip", "netns", "exec", NAMESPACE, *program],
        env={**environment, "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(process: subprocess.Popen[str]) -> int:
    """How many entries the scan found; with the daemon's words where it failed."""
    answer, said = process.communicate(timeout=120)
    assert process.returncode == 0, (process.returncode, said)
    return int(json.loads(answer)["files"])


@pytest.mark.parametrize("hosts", HOSTS_LINES)
def test_services_are_found_by_name(machine: Path, services: Services, authority: trustme.CA, hosts: str) -> None:
    write(machine / "etc" / "nsswitch.conf", f"hosts: {hosts}\n")
    write(machine / BUNDLES[0], authority.cert_pem.bytes().decode())
    assert files(start(machine, services)) == 1


@pytest.mark.parametrize("bundle", BUNDLES)
def test_certificates_are_found_where_the_distribution_keeps_them(
    machine: Path, services: Services, authority: trustme.CA, bundle: str
) -> None:
    for other in BUNDLES:
        (machine / other).unlink(missing_ok=True)
    write(machine / bundle, authority.cert_pem.bytes().decode())
    assert files(start(machine, services)) == 1


@pytest.mark.parametrize("failure", ["refuse", "silent"])
def test_a_name_server_that_fails_for_seconds_costs_seconds(
    machine: Path, services: Services, authority: trustme.CA, failure: str
) -> None:
    write(machine / BUNDLES[0], authority.cert_pem.bytes().decode())
    services.names(failure)
    try:
        process = start(machine, services)
        services.names("asked")
        assert process.poll() is None
    finally:
        services.names("answer")
    assert files(process) == 1


def test_another_name_server_is_asked_once_the_machine_names_it(
    machine: Path, services: Services, authority: trustme.CA
) -> None:
    write(machine / BUNDLES[0], authority.cert_pem.bytes().decode())
    services.names("silent")
    try:
        process = start(machine, services)
        services.names("asked")
        write(machine / "etc" / "resolv.conf", "nameserver 127.0.0.2\n")
        assert files(process) == 1
    finally:
        services.names("answer")


def test_a_machine_whose_name_server_is_not_known_yet_waits_for_it(
    machine: Path, services: Services, authority: trustme.CA
) -> None:
    write(machine / BUNDLES[0], authority.cert_pem.bytes().decode())
    unknown = machine / "etc" / "resolv.conf"
    write(unknown, "# none yet\n")
    with opened(unknown) as wait:
        process = start(machine, services)
        wait()
    write(machine / "etc" / "resolv.conf", "nameserver 127.0.0.1\n")
    assert files(process) == 1
