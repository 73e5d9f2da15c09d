"""`make structure`: what the tree's structure is measured by, each number with its definition.

With `--check`, which is part of `make lint`, a number that is higher than in tools/structure.json is an error; one that
is lower is to be written down there, so that it stays. `--write` does that.
"""

import ast
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import grimp

from tools import rust_modules

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_suffix(".json")
PRODUCT = ("cli", "contracts", "infra", "lambdas", "local", "relay-ami", "statemachine")
NO_PRODUCT = re.compile(r"(^|/)(tests|examples|fuzz)/|_tests\.rs$|/builders(/|\.rs$)|\.lock$|^relay-ami/.*\.md$")
# Where builds, packages and caches lie.
BUILT = {"__pycache__", "artifacts", "corpus", "dist", "node_modules", "patched", "target"}
SOURCES = (".py", ".ts", ".rs", ".sh", ".json", ".toml", ".yaml")
# Where it may be known that an end is a machine with paths: kinds of ends, their daemons, the request, the network.
ENDS = re.compile(r"lambdas/(core|operations)/(ends|seats|request)\b")
NAMES_AN_END = re.compile(r"\.(at_)?(source|destination)\.(instance_id|plain_paths|asked_paths|paths|path|run_as)\b")
# The calls of EC2 by which a relay begins and ends.
LAUNCHES_OR_ENDS = re.compile(r"\.compute\.(launch|terminate)\(")
# What tells an estimate on other routes from one of pairs. Rows may know: they give every row its routes.
ROUTES = {"by_pairs", "is_by_pairs", "is_pair_alone", "planned", "routes", "ways"}
GIVES_ROUTES = "lambdas/core/estimate/rows.py"
BARE_REGION = re.compile(r"\bPlace\([^,()]+\)")
DAEMON = "relay-ami/relay/src"
SHARED = re.compile(r"^(?:pub(?:\([^)]*\))? )?struct Shared\b", re.MULTILINE)
# Each is one: a name for the answer that is asked again counts again.
ONLY_MEASURES = re.compile(r"""\bis_profiling\b|\bprofile\b["')\]]*\s*(?:==|!=|=)\s*["']measure["']|\bis MEASURE\b""")
ASKS = ("lambdas/", "cli/", "statemachine/")
MIRRORED = ("lambdas/core", "lambdas/operations", "lambdas/adapters", "lambdas/handlers", "cli")


class Measure(NamedTuple):
    """A number, what it counts, and what was counted."""

    meaning: str
    found: list[str]
    value: int


def main(arguments: list[str]) -> int:
    """Print the numbers; 1 where `--check` finds one that has grown."""
    measures = measured(tracked())
    for name, measure in measures.items():
        print(f"{measure.value:>7}  {name}: {measure.meaning}")
        if "--list" in arguments:
            print(*(f"           {one}" for one in measure.found), sep="\n")
    values = {name: measure.value for name, measure in measures.items()}
    if "--write" in arguments:
        KNOWN.write_text(json.dumps(values, indent=2) + "\n")
    if "--check" not in arguments:
        return 0
    problems = list(changes(values, json.loads(KNOWN.read_text())))
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


def changes(values: Mapping[str, int], known: Mapping[str, int]) -> Iterator[str]:
    """What is to be done about each number that is another one than was written down."""
    for name, value in values.items():
        if value > known.get(name, value):
            yield (
                f"structure: {name} was {known[name]} and is {value}. `python -m tools.structure --list` shows where; "
                "mend it, or run it with --write and say in the commit why it must grow"
            )


def measured(files: list[str]) -> dict[str, Measure]:
    """All numbers of the tree with these files."""
    product = [name for name in files if name.startswith(PRODUCT) and not NO_PRODUCT.search(name)]
    texts = {name: (ROOT / name).read_text() for name in product if name.endswith(SOURCES)}
    python = {name: text for name, text in texts.items() if name.startswith(("lambdas/", "cli/"))}
    elsewhere = {name: text for name, text in python.items() if not ENDS.search(name)}
    ends = [name for name, text in elsewhere.items() if NAMES_AN_END.search(text)]
    bare = [name for name, text in elsewhere.items() for _ in BARE_REGION.findall(text)]
    fleet = [name for name, text in python.items() for _ in LAUNCHES_OR_ENDS.findall(text)]
    long = [name for name, text in texts.items() if text.count("\n") > 250 and not name.endswith(".json")]
    asking = [name for name, text in texts.items() if name.startswith(ASKS) for _ in ONLY_MEASURES.findall(text)]
    circles = [one for package in ("lambdas", "cli", "local") for one in in_circles(package)]
    untested = sorted(without_test(files))
    daemon = {name: text for name, text in texts.items() if name.startswith(DAEMON)}
    roots = [name for name in daemon if Path(name).parent == Path(DAEMON)]
    shared = [name for name, text in daemon.items() for _ in SHARED.findall(text)]
    lines = sum(text.count("\n") for text in texts.values())
    return {
        "product-lines": Measure("lines of sources, contracts and templates, without tests and examples", [], lines),
        "files-that-name-ends": _counted(
            "Python files outside of kinds, daemons and request that read the instance or paths of an end", ends
        ),
        "places-that-launch-or-end": _counted("calls in lambdas and cli that launch relays or terminate them", fleet),
        "bare-regions": _counted("times that a place is made of a region alone, in lambdas and cli", bare),
        "forks-on-routes": _counted(
            "conditions in lambdas, outside of the rows of an estimate, on whether it has routes or pairs alone",
            [place for name, text in python.items() for place in forks_on_routes(name, text)],
        ),
        "circles": _counted(
            "imports from one folder of lambdas, cli or local to another that lead back to it", circles
        ),
        "daemon-circles": _counted(
            "uses from one module of the daemon to another that lead back to it", leading_back(_daemon())
        ),
        "daemon-root-files": _counted("files side by side in the root of relay/src", roots),
        "daemon-shared-structs": _counted("structs named Shared in the daemon, which all its loops would take", shared),
        "modules-without-a-test": _counted("modules of lambdas and cli without a test of their name", untested),
        "questions-whether-it-only-measures": _counted(
            "times that lambdas, cli or the state machine ask the request whether its execution only measures", asking
        ),
        "long-files": _counted("product files of more than 250 lines", long),
    }


def _counted(meaning: str, found: list[str]) -> Measure:
    return Measure(meaning, found, len(found))


def forks_on_routes(name: str, text: str) -> Iterator[str]:
    """Where a module of lambdas tests whether there are routes: `file:line`."""
    if not name.startswith("lambdas/") or name == GIVES_ROUTES:
        return
    for node in ast.walk(ast.parse(text)):
        if any(isinstance(one, ast.Attribute) and one.attr in ROUTES for one in _tested(node)):
            yield f"{name}:{node.lineno if isinstance(node, ast.expr | ast.stmt) else 0}"


def _tested(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions whose truth, or presence, a piece of code asks for."""
    match node:
        case ast.If() | ast.IfExp() | ast.While() | ast.Assert():
            yield node.test
        case ast.BoolOp():
            yield from node.values
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Compare(left=left, comparators=[ast.Constant(value=None)]):
            yield left
        case ast.Call(func=ast.Name(id="bool")):
            yield from node.args
        case ast.comprehension():
            yield from node.ifs


def tracked() -> list[str]:
    """Files of the product and its tests, without what is built from them."""
    found = []
    for folder in (*PRODUCT, "tests"):
        for path, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name not in BUILT]
            found += [(Path(path) / name).relative_to(ROOT).as_posix() for name in names]
    return sorted(found)


def in_circles(package: str) -> list[str]:
    """Imports from one folder to another that lead back to the first."""
    graph = grimp.build_graph(package, cache_dir=None)
    folders: dict[str, set[str]] = {}
    for module in graph.modules:
        here = _folder(graph, module)
        others = {_folder(graph, other) for other in graph.find_modules_directly_imported_by(module)}
        folders.setdefault(here, set()).update(others - {here})
    return leading_back(folders)


def leading_back(uses: Mapping[str, set[str]]) -> list[str]:
    """Whatever uses another one that uses it, directly or through others."""
    return sorted(f"{one} -> {other}" for one in uses for other in uses[one] if one in _reached(uses, other))


def _daemon() -> dict[str, set[str]]:
    return rust_modules.uses(ROOT / DAEMON)


def _reached(uses: Mapping[str, set[str]], start: str) -> set[str]:
    seen, todo = set[str](), [start]
    while todo:
        following = uses[todo.pop()] - seen
        seen |= following
        todo += following
    return seen


def _folder(graph: grimp.ImportGraph, module: str) -> str:
    return module if graph.find_children(module) else module.rpartition(".")[0]


def without_test(files: list[str]) -> Iterator[str]:
    """Modules below `MIRRORED` for which tests/ has no file of their name in the same place."""
    known = set(files)
    for name in files:
        path = Path(name)
        is_module = name.startswith(MIRRORED) and path.suffix == ".py" and path.name != "__init__.py"
        if is_module and f"tests/{path.parent}/test_{path.name}" not in known:
            yield name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
