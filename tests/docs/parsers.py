"""Whether a command would be understood, asked of the parser that would read it; nothing is run."""

import os
import re
import shlex
import subprocess
from functools import cache
from typing import Any

import typer

from cli.main import app
from tests.docs.pages import ROOT

AWS = ROOT / ".tools" / "bin" / "aws"


def problem(command: str) -> str | None:
    """What its parser says against a command; None where it would be understood."""
    words = shlex.split(command.removeprefix("sudo ").removeprefix(".venv/bin/"))
    known = {"cpt": _cpt, "aws": _aws, "make": _make, "npx": _cdk, "git": _git}
    return known[words[0]](words[1:]) if words[0] in known else f"{words[0]}: no parser is known for it"


def _cpt(words: list[str]) -> str | None:
    command: Any = typer.main.get_command(app)  # of a parser that Typer keeps to itself
    path = "cpt"
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name, *words = words
        path += f" {name}"
        if name not in command.commands:
            return f"{path}: no such command"
        command = command.commands[name]
    options = {"--help", *(option for parameter in command.params for option in parameter.opts)}
    wrong = [word for word in words if word.startswith("-") and word not in options]
    return f"{path} has no {', '.join(wrong)}" if wrong else None


def _aws(words: list[str]) -> str | None:
    """Asked for a skeleton, the real command line reads its options and calls nobody."""
    if not any(word.startswith("--") for word in words):
        return None  # a call that is named, not shown
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-west-2"}
    done = subprocess.run(
        [AWS, *words, "--generate-cli-skeleton"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **keys},
    )
    return done.stderr.strip()[-300:] if done.returncode else None


def _make(words: list[str]) -> str | None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong = [word for word in words if "=" not in word and word not in targets]
    return f"make has no target {', '.join(wrong)}" if wrong else None


def _cdk(words: list[str]) -> str | None:
    if words[:1] != ["cdk"]:
        return f"npx {words[0]}: only the CDK comes with the checkout"
    wrong = [word for word in words[2:] if word.startswith("--") and word not in _cdk_help(words[1])]
    return f"cdk {words[1]} has no {', '.join(wrong)}" if wrong else None


def _git(words: list[str]) -> str | None:
    known = subprocess.run(["git", "--list-cmds=main"], capture_output=True, text=True, check=True).stdout.split()
    return None if words[0] in known else f"git has no command {words[0]}"


@cache
def _cdk_help(command: str) -> str:
    done = subprocess.run(
        ["npx", "--no-install", "cdk", command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout
