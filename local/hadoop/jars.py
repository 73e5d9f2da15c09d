"""Hadoop's jars: exactly those of the lock file, by their digests, from wherever this machine's Maven fetches."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from local.hadoop.cache import CACHE, once
from local.hadoop.errors import HadoopMissingError
from local.hadoop.java import Java

LOCK = Path(__file__).with_name("jars.lock")
HDFS, DISTCP, COMPILER = SECTIONS = ("hdfs", "distcp", "compiler")
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
FETCH_SECONDS = 600
NO_FILES = "-XX:-UsePerfData"  # Java would leave a directory in /tmp
NO_MAVEN = "no `mvn` to fetch Hadoop's jars with; on Debian: apt-get install maven"


class LockError(ValueError):
    """The lock file is not as it should be; the message has the line."""


class DigestError(Exception):
    """A jar that was fetched is not the one of the lock file."""


@dataclass(frozen=True)
class Jar:
    """One file of a Maven repository. `sha256`: of its content, 64 hexadecimal digits."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its name in a folder of jars of several groups."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.group}.{self.artifact}-{self.version}{classifier}.jar"

    def __str__(self) -> str:
        """Its line of the lock file."""
        coordinates = [self.group, self.artifact, self.version, *filter(None, [self.classifier])]
        return f"{':'.join(coordinates)} {self.sha256}"


def parse(text: str) -> dict[str, tuple[Jar, ...]]:
    """Jars by section. A line is `[SECTION]`, `group:artifact:version[:classifier] sha256`, a `#` comment or empty.

    Raises LockError.
    """
    found: dict[str, list[Jar]] = {}
    section: list[Jar] | None = None
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        if named := re.fullmatch(r"\[(\w+)\]", line):
            section = found.setdefault(named[1], [])
            continue
        jar = re.fullmatch(r"([^\s:]+):([^\s:]+):([^\s:]+)(?::([^\s:]+))?\s+([0-9a-f]{64})", line)
        if jar is None or section is None:
            raise LockError(f"jars.lock: {line!r} is no jar of a section")
        section.append(Jar(jar[1], jar[2], jar[3], jar[4] or "", jar[5]))
    for name, jars in found.items():
        if len({jar.file_name for jar in jars}) != len(jars):
            raise LockError(f"jars.lock: [{name}] has a jar twice")
    return {name: tuple(jars) for name, jars in found.items()}


def class_path(java: Java, *sections: str, cache: Path = CACHE) -> tuple[Path, ...]:
    """The jars of these sections of the lock file, in its order; fetched once.

    Raises HadoopMissingError where there is no Maven or it cannot fetch, and DigestError.
    """
    locked = parse(LOCK.read_text(encoding="utf-8"))
    return tuple(jar for section in sections for jar in fetched(java, section, locked[section], cache))


def fetched(java: Java, section: str, jars: Sequence[Jar], cache: Path) -> list[Path]:
    """These jars in a folder of the cache; fetched once. Raises as `class_path`."""

    def make(target: Path) -> None:
        (target.parent / "pom.xml").write_text(project(jars), encoding="utf-8")
        maven(java, target.parent, COPY, f"-DoutputDirectory={target}", "-Dmdep.prependGroupId=true")
        check(jars, target)

    name = hashlib.sha256("\n".join(map(str, jars)).encode()).hexdigest()[:12]
    folder = once(f"jars-{section}-{name}", make, cache)
    return [folder / jar.file_name for jar in jars]


def check(jars: Sequence[Jar], folder: Path) -> None:
    """Hold files against the lock file. Raises DigestError with the names of those that are others or missing."""
    wrong = [jar.file_name for jar in jars if _digest(folder / jar.file_name) != jar.sha256]
    if wrong:
        raise DigestError(f"not the files of local/hadoop/jars.lock: {', '.join(wrong)}")


def project(jars: Sequence[Jar]) -> str:
    """A pom.xml that depends on these files and on nothing that they depend on."""
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    return pom(
        f"<groupId>{escape(jar.group)}</groupId><artifactId>{escape(jar.artifact)}</artifactId>"
        f"<version>{escape(jar.version)}</version><classifier>{escape(jar.classifier)}</classifier>{alone}"
        for jar in jars
    )


def pom(dependencies: Iterable[str]) -> str:
    """A pom.xml with these contents of `dependency`."""
    listed = "".join(f"<dependency>{one}</dependency>\n" for one in dependencies)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        "<groupId>cpt</groupId><artifactId>hadoop</artifactId><version>1</version><packaging>pom</packaging>\n"
        f"<dependencies>\n{listed}</dependencies></project>\n"
    )


def maven(java: Java, folder: Path, *goals: str) -> None:
    """Run Maven on the pom.xml of a folder, with a repository of its own in there. Raises HadoopMissingError."""
    program = shutil.which("mvn")
    if program is None:
        raise HadoopMissingError(NO_MAVEN)
    try:
        subprocess.run(
            [program, "--batch-mode", "--quiet", f"-Dmaven.repo.local={folder / 'repository'}", *goals],
            cwd=folder,
            env={
                **os.environ,
                "JAVA_HOME": str(java.home),
                "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} {NO_FILES}",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FETCH_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as failed:
        said = " / ".join(failed.stdout.strip().splitlines()[:3])
        raise HadoopMissingError(f"Maven cannot fetch Hadoop's jars: {said[:800]}") from failed
    except subprocess.TimeoutExpired as late:
        raise HadoopMissingError(f"Maven has not fetched Hadoop's jars within {FETCH_SECONDS} s") from late


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
