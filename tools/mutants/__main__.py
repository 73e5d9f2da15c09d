"""`make mutants`: how many drawn mutants of core, daemon and templates the tests kill.

Each is tried in a copy of the checkout, by the suites of its part, the quick ones first. What survives them all is
listed; `--then` names tests that are tried on such a one as well. The same seed and count draw the same mutants where
the sources are the same, so two versions of the tests can be held against each other.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.mutations import Mutation, mutations

ROOT = Path(__file__).parents[2]
SECONDS = 900  # for one suite
SHARED = (".venv", ".tools", "node_modules", "cdk.out")
BUILT = ("relay-ami/relay/target", "relay-ami/dist")
CARGO = ("cargo", "test", "--release", "--locked", "--quiet", "--offline")


@dataclass(frozen=True)
class Part:
    """A part of the product: its sources, and the suites that are to notice."""

    folders: Sequence[str]
    suffix: str
    share: float

    def files(self) -> list[Path]:
        """Its source files, as git lists them, below the root."""
        listed = subprocess.run(
            ["git", "ls-files", *self.folders], cwd=ROOT, capture_output=True, text=True, check=True
        )
        named = (name for name in listed.stdout.splitlines() if name.endswith(self.suffix))
        return [Path(name) for name in named if not name.endswith("tests.rs")]

    def suites(self, mutation: Mutation) -> list[list[str]]:
        """Commands, the quick ones first."""
        python = [sys.executable, "-m", "pytest", "-q", "-x", "--numprocesses", "2", "--dist", "loadfile"]
        if self.suffix == ".py":
            near = ROOT / "tests" / mutation.file.parent
            whole = [*python, "tests/lambdas", "tests/contracts"]
            return [[*python, str(near.relative_to(ROOT))], whole] if near.is_dir() else [whole]
        if self.suffix == ".rs":
            return [
                [*CARGO, "--workspace", "--exclude", "cpt-relay-fuzz", "--lib"],
                [*CARGO, "--package", "cpt-laboratory"],
            ]
        return [["npx", "--no-install", "vitest", "run"], [*python, "tests/test_shape.py", "tests/infra"]]


PARTS = {
    "core": Part(["lambdas/core"], ".py", 0.6),
    "daemon": Part(["relay-ami/relay", ":!relay-ami/relay/tests", ":!relay-ami/relay/fuzz"], ".rs", 0.2),
    "templates": Part(["infra/lib"], ".ts", 0.12),
    "workflow": Part(["statemachine"], ".asl.json", 0.08),
}


def draw(seed: int, count: int) -> list[tuple[str, Mutation]]:
    """Mutations of all parts by their shares; within a part each is as likely as any other."""
    drawn = []
    for name, part in PARTS.items():
        every = [found for file in part.files() for found in mutations(ROOT, file)]
        randomness = random.Random(f"{seed} {name}")
        drawn += [(name, found) for found in randomness.sample(every, min(round(count * part.share), len(every)))]
    return drawn


def at_least_one(text: str) -> int:
    """A number of mutants."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1, so that nothing would be tried")
    return number


def copy_of_checkout(folder: Path) -> None:
    """What git has, with what was installed or built beside it."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    for name in SHARED:
        (folder / name).symlink_to(ROOT / name)
    for name in BUILT:
        subprocess.run(["cp", "-a", "--reflink=auto", ROOT / name, folder / name], check=True)


def fate(folder: Path, name: str, mutation: Mutation, then: Sequence[str]) -> str:
    """What killed it: "does not build", a suite's command, or "survived"."""
    part = PARTS[name]
    mutation.apply(folder)
    try:
        where = folder / "relay-ami/relay" if part.suffix == ".rs" else folder
        if part.suffix == ".rs" and run(["cargo", "check", "--quiet", "--offline", "--release"], where):
            return "does not build"
        suites = part.suites(mutation)
        if then and part.suffix == ".py":
            suites.append(
                [sys.executable, "-m", "pytest", "-q", "-x", "--numprocesses", "3", "--dist", "loadfile", *then]
            )
        return next((" ".join(suite[-3:]) for suite in suites if run(suite, where)), "survived")
    finally:
        subprocess.run(["git", "checkout", "--quiet", "--", str(mutation.file)], cwd=folder, check=True)


def run(command: Sequence[str], folder: Path) -> bool:
    """Return whether it fails or hangs."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        return (
            subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False
            ).returncode
            != 0
        )
    except subprocess.TimeoutExpired:
        return True


def main() -> None:
    """Draw, try each, and print the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="what is drawn; printed")
    parser.add_argument("--count", type=at_least_one, default=150)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one; may be given again")
    parser.add_argument("--then", nargs="*", default=[], help="tests for what survives in core")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache/mutants")
    options = parser.parse_args()
    if missing := [name for name in (*SHARED, *BUILT) if not (ROOT / name).exists()]:
        parser.error(f"{', '.join(missing)} is not there; run make synth first")
    print(f"mutants: seed {options.seed}, count {options.count}", flush=True)
    shutil.rmtree(options.folder, ignore_errors=True)
    copy_of_checkout(options.folder)
    fates: dict[str, list[str]] = {name: [] for name in options.part or PARTS}
    for name, mutation in draw(options.seed, options.count):
        if name not in fates:
            continue
        began = time.monotonic()
        found = fate(options.folder, name, mutation, options.then)
        fates[name].append(found)
        print(
            json.dumps(
                {"part": name, "mutation": str(mutation), "fate": found, "seconds": round(time.monotonic() - began)}
            ),
            flush=True,
        )
    for name, ends in fates.items():
        built = [end for end in ends if end != "does not build"]
        killed = len(built) - built.count("survived")
        print(f"{name}: {killed} of {len(built)} killed, {len(ends) - len(built)} did not build")
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
