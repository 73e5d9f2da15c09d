"""The lists of dependencies: every package of the locks, each with its licence and the text that it comes with."""

import json
import tomllib

import pytest

from tests.paths import ROOT
from tools.release.components import Component, components
from tools.release.lists import licences, sbom

EPOCH = 1_700_000_000
# Licences that whoever builds on them, or distributes them, must publish their own work under.
STRONG = ("AGPL", "GPL-2", "GPL-3", "SSPL")
# Needed on Windows alone, so nothing of it is installed here.
ELSEWHERE = {"colorama"}
# They state MIT or Apache-2.0, and are published without its text.
WITHOUT_TEXT = {"base64-simd", "hdfs-native", "vsimd"}


@pytest.fixture(scope="module")
def found() -> list[Component]:
    return components()


def test_all_three_ecosystems_are_there_with_what_the_parts_name(found: list[Component]) -> None:
    names = {(one.ecosystem, one.name) for one in found}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["lambdas"]]
    assert {("Python", text.partition("==")[0].partition("[")[0]) for text in asked} <= names
    crates = tomllib.loads((ROOT / "relay-ami/relay/control-aws/Cargo.toml").read_text())["dependencies"]
    ours = {path.parent.name for path in (ROOT / "relay-ami/relay").glob("*/Cargo.toml")}
    assert {("Rust", name) for name in crates if name.removeprefix("cpt-") not in ours} <= names
    package = json.loads((ROOT / "package.json").read_text())
    assert {("Node", name) for name in package["devDependencies"]} <= names
    assert not [name for ecosystem, name in names if ecosystem == "Rust" and name.startswith("cpt-")]


def test_each_package_states_a_licence_that_asks_nothing_of_those_who_deploy(found: list[Component]) -> None:
    assert {one.name for one in found if one.licence == "not stated"} <= ELSEWHERE
    strong = [one for one in found if any(word in one.licence for word in STRONG) and " OR " not in one.licence]
    assert strong == []


def test_what_is_compiled_in_or_brought_along_comes_with_its_text(found: list[Component]) -> None:
    without = {one.name for one in found if one.ecosystem != "Node" and not one.texts}
    assert without <= ELSEWHERE | WITHOUT_TEXT


def test_the_lists_are_the_same_each_time_and_whole(found: list[Component]) -> None:
    first = sbom(found, "1.2.3", EPOCH)
    assert first == sbom(components(), "1.2.3", EPOCH)
    document = json.loads(first)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    references = [one["bom-ref"] for one in document["components"]]
    assert len(references) == len(set(references)) == len(found)
    assert all(one["purl"].startswith(("pkg:cargo/", "pkg:pypi/", "pkg:npm/")) for one in document["components"])
    text = licences(found).decode()
    assert all(f"{one.ecosystem}: {one.name} {one.version}: " in text for one in found)
    assert all(text.count(part) >= 1 for one in found for part in one.texts)
    assert str(ROOT) not in text + first.decode()
