"""What daemon, laboratory and tests depend on is compiled once for all three: it takes minutes."""

import subprocess
from pathlib import Path

CRATE = Path(__file__).parents[2] / "relay-ami" / "relay"
DAEMON = ["--package", "cpt-command-line", "--edges", "normal,build"]
LABORATORY = ["--package", "cpt-laboratory", "--edges", "normal,build"]
TESTS = ["--workspace", "--edges", "normal,build,dev"]


def packages(selection: list[str]) -> dict[str, set[str]]:
    """Versions and features of each package, as Cargo builds it for a selection."""
    tree = ["cargo", "tree", "--locked", "--quiet", "--prefix", "none", "--no-dedupe", "--format", "{p}\t{f}"]
    told = subprocess.run(tree + selection, cwd=CRATE, capture_output=True, text=True, check=True).stdout
    found: dict[str, set[str]] = {}
    for line in filter(None, told.splitlines()):
        package, _, features = line.partition("\t")
        found.setdefault(package.split()[0], set()).add(f"{package.split()[1]} {features.removesuffix(' (*)')}")
    return found


def test_every_package_of_the_daemon_has_the_same_features_in_the_laboratory_and_in_tests() -> None:
    daemon = packages(DAEMON)
    assert "aws-sdk-s3" in daemon
    for selection in (LABORATORY, TESTS):
        other = packages(selection)
        differing = {name: (found, other.get(name)) for name, found in daemon.items() if found != other.get(name)}
        # Say the features in relay-ami/relay/Cargo.toml: what depends on such a package is compiled anew too.
        assert not differing
