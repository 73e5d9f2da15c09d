"""Hadoop's jars are those of the lock file, whatever fetched them."""

import hashlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.hadoop.errors import HadoopMissingError
from local.hadoop.jars import COMPILER, DISTCP, HDFS, LOCK, DigestError, Jar, LockError, fetched, parse, project
from local.hadoop.java import Java

JAVA = Java(Path("/nowhere"), "")
DIGEST = hashlib.sha256(b"right\n").hexdigest()
JARS = (Jar("org.a", "one", "1.0", "", DIGEST), Jar("org.a", "two", "2.0", "linux", DIGEST))
Maven = Callable[[str], Path]


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    """Puts a `mvn` on the path that fetches files with the same line; returns where it notes each of its starts."""

    def install(line: str) -> Path:
        program = tmp_path / "bin/mvn"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f'#!/bin/sh\necho started >>"{tmp_path}/starts"\nfor word; do\n'
            'case "$word" in -DoutputDirectory=*) into="${word#*=}" ;; esac\ndone\nmkdir "$into"\n'
            + "".join(f'echo "{line}" >"$into/{jar.file_name}"\n' for jar in JARS)
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return tmp_path / "starts"

    return install


def test_a_lock_file_has_sections_of_jars() -> None:
    text = f"# of 3.4.3\n[hdfs]\n{JARS[0]}\n\n{JARS[1]}  # two\n[distcp]\n"
    assert parse(text) == {"hdfs": JARS, "distcp": ()}
    assert [jar.file_name for jar in JARS] == ["org.a.one-1.0.jar", "org.a.two-2.0-linux.jar"]


@pytest.mark.parametrize(
    "text",
    [
        str(JARS[0]),
        f"[hdfs]\norg.a:one {DIGEST}",
        f"[hdfs]\norg.a:one:1.0 {DIGEST[1:]}",
        "[hdfs]\norg.a:one:1.0",
        f"[hdfs]\n{JARS[0]}\n{JARS[0]}",
    ],
)
def test_a_line_that_is_no_jar_of_a_section_is_refused(text: str) -> None:
    with pytest.raises(LockError):
        parse(text)


def test_no_jar_of_the_lock_file_is_there_in_two_versions() -> None:
    sections = parse(LOCK.read_text())
    assert sections.keys() == {HDFS, DISTCP, COMPILER}
    counts = Counter((jar.group, jar.artifact, jar.classifier) for jars in sections.values() for jar in jars)
    assert [jar for jar, count in counts.items() if count > 1] == []


def test_maven_is_asked_for_the_files_and_for_nothing_that_they_need() -> None:
    asked = project(JARS)
    assert asked.count("<dependency>") == asked.count("<artifactId>*</artifactId>") == len(JARS)
    assert "<version>2.0</version><classifier>linux</classifier>" in asked


def test_of_several_that_ask_at_once_one_fetches(tmp_path: Path, maven: Maven) -> None:
    starts = maven("right")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fetched(JAVA, HDFS, JARS, tmp_path / "cache"), range(4)))
    assert {file.read_text() for files in found for file in files} == {"right\n"}
    assert starts.read_text() == "started\n"
    assert len(list((tmp_path / "cache").iterdir())) == 2  # with the lock


def test_a_file_with_another_digest_is_refused_and_not_kept(tmp_path: Path, maven: Maven) -> None:
    maven("wrong")
    with pytest.raises(DigestError, match=r"org\.a\.one-1\.0\.jar, org\.a\.two-2\.0-linux\.jar"):
        fetched(JAVA, HDFS, JARS, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]
    maven("right")
    assert len(fetched(JAVA, HDFS, JARS, tmp_path / "cache")) == 2


def test_what_was_killed_while_it_fetched_leaves_nothing_to_the_next_one(tmp_path: Path, maven: Maven) -> None:
    (tmp_path / "cache/.new-abc/jars-hdfs").mkdir(parents=True)
    maven("right")
    fetched(JAVA, HDFS, JARS, tmp_path / "cache")
    assert not (tmp_path / "cache/.new-abc").exists()


def test_without_maven_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HadoopMissingError, match="apt-get install maven"):
        fetched(JAVA, HDFS, JARS, tmp_path / "cache")
