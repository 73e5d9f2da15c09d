"""The asset runs under the Python that its template declares, and under this machine's own where that is missing."""

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from local.cloud import ASSEMBLY, LocalCloud
from local.deploy import check_assets, runtimes_of, stacks_of
from local.interpreters import OWN, Interpreter, OtherVersionError, candidates, chosen, lay_substitutes, note
from local.patches.functions import runtime as lambda_runtime
from local.patches.functions.fork import ForkServer
from local.state import StateDir
from tests.chaos.extent import cases
from tests.local.conftest import invoke

ANOTHER = "python3.99"


def test_all_functions_declare_one_runtime_and_their_asset_is_made_for_it() -> None:
    assert len(runtimes_of(ASSEMBLY)) == 1
    for stack in stacks_of(ASSEMBLY, ""):
        check_assets(stack, ASSEMBLY)


def _asset(properties: dict[str, Any]) -> str:
    return str(properties["Code"]["S3Key"])


@pytest.mark.parametrize("which", cases(["the runtime's", "its own"], ["the runtime's"]))
def test_every_handler_of_the_asset_is_imported_by(which: str, tmp_path: Path) -> None:
    (runtime,) = runtimes_of(ASSEMBLY)
    python = chosen(runtime, candidates(runtime) if which == "the runtime's" else [])
    if which == "the runtime's" and python.name != runtime:
        pytest.skip(f"{note(runtime)}")
    functions = [
        resource["Properties"]
        for stack in stacks_of(ASSEMBLY, "")
        for resource in stack.template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]
    state = StateDir(tmp_path)
    codes = {key: ASSEMBLY.resolve() / f"asset.{key.removesuffix('.zip')}" for key in map(_asset, functions)}
    before = {path for code in codes.values() for path in code.rglob("*")}
    # As on AWS each imports all that it needs itself: which comes first may matter.
    servers = {}
    for number, (key, code) in enumerate(codes.items()):
        paths = lambda_runtime.import_paths(state, python, runtime, code)
        servers[key] = ForkServer(state, python.executable, code, paths, tmp_path / f"bytecode-{number}", pure="")
    answers = {}
    for properties in functions:
        server = servers[_asset(properties)]
        variables = properties["Environment"]["Variables"]
        environment = {key: text if isinstance(text, str) else "any" for key, text in variables.items()}
        process = server.start(properties["Handler"], environment | {"AWS_REGION": "us-west-2"})
        answers[properties["Handler"]] = json.loads(process.stdout.readline())
        process.kill()
    assert {key: answer for key, answer in answers.items() if answer["status"] != "ready"} == {}
    assert len(answers) == len(functions)
    after = {path for code in codes.values() for path in code.rglob("*")}
    assert after == before, "on Lambda nothing can be written there"


def test_function_is_run_by_the_python_that_its_runtime_has_here(cloud: LocalCloud, assembly_path: Path) -> None:
    (runtime,) = runtimes_of(assembly_path)
    _, answer = invoke(cloud, action="identity")
    assert answer["python"] == chosen(runtime, candidates(runtime)).name
    assert cloud.notes() == [line for line in [note(runtime)] if line]


def test_without_the_runtimes_python_a_persons_own_is_taken_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(OWN, [sys.executable]) == Interpreter(OWN, sys.executable)
    assert chosen(ANOTHER, [sys.executable, "/nonexistent/python"]) == Interpreter(OWN, sys.executable)
    assert note(OWN) is None
    monkeypatch.setenv("PYENV_ROOT", "/nonexistent")
    assert note(ANOTHER) == f"{OWN} runs the functions, as there is no {ANOTHER} here; AWS runs {ANOTHER}"


def test_a_program_of_the_right_name_that_does_not_start_is_passed_over(tmp_path: Path) -> None:
    shim = tmp_path / OWN
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert chosen(OWN, [str(shim), sys.executable]).executable == sys.executable


@pytest.mark.parametrize("version", [metadata.version("pydantic_core"), "1.0"])
def test_native_packages_are_replaced_by_the_same_version_only(tmp_path: Path, version: str) -> None:
    information = tmp_path / "code" / f"pydantic_core-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "WHEEL").write_text("Root-Is-Purelib: false\nTag: cp313-cp313-manylinux_2_17_x86_64\n")
    if version == "1.0":
        with pytest.raises(OtherVersionError, match=r"pydantic_core 1\.0"):
            lay_substitutes(tmp_path / "code", tmp_path / "laid")
    else:
        lay_substitutes(tmp_path / "code", tmp_path / "laid")
        assert (tmp_path / "laid" / "pydantic_core" / "__init__.py").exists()
