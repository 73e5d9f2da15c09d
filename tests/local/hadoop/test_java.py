"""Which Java runs Hadoop, by what it says of itself."""

from pathlib import Path

import pytest

from local.hadoop import java
from local.hadoop.java import Java, fit

SAID = """Property settings:
    java.home = /opt/a java
    java.vm.specification.version = 17

{line}
OpenJDK Runtime Environment (build 17.0.15+6)
"""


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ('java version "1.8.0_392"', False),
        ('openjdk version "10.0.2" 2018-07-17', False),
        ('openjdk version "11" 2018-09-25', True),
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "23-ea" 2024-09-17', True),
        ('openjdk version "24" 2025-03-18', False),
        ('openjdk version "25.0.1" 2025-10-21', False),
        ("sh: cannot execute", False),
    ],
)
def test_java_11_to_23_runs_hadoop(line: str, runs: bool) -> None:
    found = fit(SAID.format(line=line))
    assert (found is not None) == runs
    if found:
        assert found.program == Path("/opt/a java/bin/java")
        assert found.version.startswith(line)


def test_one_that_does_not_run_hadoop_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("new", "25"), ("good", "17.0.1")):
        program = tmp_path / name / "bin/java"
        program.parent.mkdir(parents=True)
        program.write_text(
            f"#!/bin/sh\n[ $# = 3 ] || exit 1\necho '  java.home = {tmp_path / name}' >&2\n"
            f"echo 'openjdk version \"{version}\"' >&2\n"
        )
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'good/bin'}:/usr/bin:/bin")
    assert java.find() == Java(tmp_path / "good", 'openjdk version "17.0.1"')
