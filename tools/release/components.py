"""Every dependency of what a release holds, in Rust, Python and Node, with the texts of its licence."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "relay-ami" / "relay"
PATCHED = CRATE / "patched"
DAEMON = "cpt-relay"
# The package of the program; the library of its name is one of those that it is made of.
PROGRAM = "cpt-command-line"
UV = str(ROOT / ".tools" / "bin" / "uv")
_TEXT = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright|authors)", re.IGNORECASE)
_CODE = (".py", ".js", ".ts", ".json", ".html", ".rs")


@dataclass(frozen=True)
class Component:
    """A package: its licence as it names it, the texts that it comes with, and how CycloneDX has it."""

    ecosystem: str
    name: str
    version: str
    licence: str
    texts: tuple[str, ...]
    document: dict[str, Any]


def components() -> list[Component]:
    """All of them, sorted."""
    return sorted([*rust(), *python(), *node()], key=lambda one: (one.ecosystem, one.name.lower(), one.version))


def rust() -> Iterator[Component]:
    """What is compiled into the daemon, and what compiles it; nothing that its tests alone use."""
    options = ["--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    known = json.loads(_output("cargo", "metadata", *options, cwd=CRATE))
    packages = {package["id"]: package for package in known["packages"]}
    needs = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])
        ]
        for node in known["resolve"]["nodes"]
    }
    (root,) = (key for key, package in packages.items() if package["name"] == PROGRAM)
    reached, waiting = {root}, [root]
    while waiting:
        found = set(needs[waiting.pop()]) - reached
        reached |= found
        waiting.extend(found)
    sums = _crate_sums()
    for package in (packages[key] for key in reached):
        # What is patched is somebody else's all the same.
        if package["source"] is None and PATCHED not in Path(package["manifest_path"]).parents:
            continue
        name, version = package["name"], package["version"]
        document = _document(f"pkg:cargo/{name}@{version}", name, version)
        document["hashes"] = [{"alg": "SHA-256", "content": sums[name, version]}]
        texts = _texts(Path(package["manifest_path"]).parent.iterdir())
        # Older packages write MIT/Apache-2.0 where SPDX has OR.
        yield Component("Rust", name, version, str(package["license"]).replace("/", " OR "), texts, document)


def _crate_sums() -> dict[tuple[str, str], str]:
    locks = [CRATE / "Cargo.lock", CRATE / "patches" / "published" / "Cargo.lock"]
    packages = [one for lock in locks for one in tomllib.loads(lock.read_text())["package"]]
    return {(one["name"], one["version"]): one["checksum"] for one in packages if "checksum" in one}


def python() -> Iterator[Component]:
    """What the wheel needs, and what the functions bring along."""
    options = ["--frozen", "--quiet", "--no-default-groups", "--group", "lambdas", "--format", "cyclonedx1.5"]
    for document in json.loads(_output(UV, "export", *options, cwd=ROOT))["components"]:
        name, version = document["name"], document["version"]
        installed = _installed(name)
        licence = "not stated" if installed is None else _licence_of(installed)
        texts = () if installed is None else _texts(_licence_files(installed))
        yield Component("Python", name, version, licence, texts, {**document, "bom-ref": document["purl"]})


def _installed(name: str) -> Distribution | None:
    """None for a package of another platform."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _licence_of(package: Distribution) -> str:
    told = package.metadata
    short = next((told[key] for key in ("License-Expression", "License") if key in told), "")
    if short and "\n" not in short:
        return short
    found = [line.split(" :: ")[-1] for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    return " AND ".join(found) or "not stated"


def _licence_files(package: Distribution) -> Iterator[Path]:
    for file in package.files or []:
        if ".dist-info" in str(file.parent):
            yield Path(str(package.locate_file(file)))


def node() -> Iterator[Component]:
    """The CDK and what its application needs, and what checks it: the lock does not tell them apart."""
    known = json.loads(_output("npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only", cwd=ROOT))
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    places: dict[tuple[str, str], str] = {}
    for place, package in lock.items():
        if place:
            places.setdefault((place.rpartition("node_modules/")[2], package["version"]), place)
    for document in known["components"]:
        name, version = document["name"], document["version"]
        place = places[name, version]
        folder = ROOT / place
        texts = _texts(folder.iterdir()) if folder.is_dir() else ()
        licence = str(lock[place].get("license", "not stated"))
        yield Component("Node", name, version, licence, texts, {**document, "bom-ref": document["purl"]})


def _document(purl: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _texts(files: Iterable[Path]) -> tuple[str, ...]:
    """Texts of the files that are licences by their names."""
    found = [file for file in files if _TEXT.match(file.name) and file.suffix not in _CODE and file.is_file()]
    return tuple(file.read_text(encoding="utf-8", errors="replace").strip() for file in sorted(found))


def _output(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=os.environ, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout
