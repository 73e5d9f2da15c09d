"""Scripts that the machines of a local cloud run."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from local.instances.process import run_script

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def test_scripts_of_many_machines_begin_at_the_same_time(tmp_path: Path) -> None:
    """A process that another thread is about to start holds all open files; the system executes none being written."""
    (tmp_path / "tmp").mkdir()
    with ThreadPoolExecutor(8) as machines:
        results = machines.map(
            lambda number: run_script([], tmp_path, f"#!/bin/sh -e\nfalse || echo {number}\nfalse\n", ENVIRONMENT, 30),
            range(400),
        )
        assert [(result.code, result.stdout) for result in results] == [(1, f"{number}\n") for number in range(400)]
