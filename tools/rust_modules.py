"""The modules of a Rust crate, and what each of them uses of the others.

A module is a file, with what it keeps in the folder of its name. What a `mod.rs` re-exports is used of the module that
has it. Tests are left out.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\n(?:#\[path = .*\]\n)?mod (\w+);\n")
COMMENT = re.compile(r"//.*")
USE = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
RENAMED = re.compile(r"\sas\s+\w+")
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")

Name = tuple[str, ...]


def uses(root: Path) -> dict[str, set[str]]:
    """Which modules below `root`, the folder of lib.rs, each of them uses."""
    texts = {_name(root, file): file.read_text() for file in sorted(root.rglob("*.rs"))}
    tests = {(*name, test) for name, text in texts.items() for test in TEST_MODULE.findall(text)}
    modules = {
        name: COMMENT.sub("", TEST_MODULE.sub("", text).split("#[cfg(test)]")[0])
        for name, text in texts.items()
        if name not in tests and not "".join(name[-1:]).endswith("_tests")
    }
    paths = {name: list(_paths(name, text, modules)) for name, text in modules.items()}
    exports = {name: {path[-1]: path for path in paths[name]} for name in modules if _is_folder(root, name)}
    found: dict[str, set[str]] = {}
    for name in modules:
        here = _whole(root, name)
        others = {_whole(root, _home(path, modules, exports)) for path in paths[name]} - {here}
        found.setdefault("::".join(here), set()).update("::".join(other) for other in others)
    return found


def _name(root: Path, file: Path) -> Name:
    parts = file.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "mod") else parts


def _is_folder(root: Path, name: Name) -> bool:
    return root.joinpath(*name, "mod.rs").exists()


def _whole(root: Path, name: Name) -> Name:
    """The module that a file belongs to: its own, or that of the file which keeps it in the folder of its name."""
    within = [name[:end] for end in range(1, len(name)) if root.joinpath(*name[:end]).with_suffix(".rs").exists()]
    return within[0] if within else name


def _paths(name: Name, text: str, modules: Mapping[Name, str]) -> Iterator[Name]:
    """All paths into the crate that a module names, from its root on."""
    named = [path for tree in USE.findall(text) for path in _expanded(tree)]
    for path in named + PATH.findall(USE.sub("", text)):
        parts = tuple(path.split("::"))
        if parts[0] == "crate":
            yield parts[1:]
        elif parts[0] == "super":
            ups = next((at for at, part in enumerate(parts) if part != "super"), len(parts))
            yield name[: len(name) - ups] + parts[ups:]
        elif (*name, parts[0]) in modules:
            yield (*name, *parts)


def _expanded(tree: str) -> Iterator[str]:
    """`a::{b, c::{self, d}}` as `a::b`, `a::c`, `a::c::d`."""
    head, brace, rest = "".join(RENAMED.sub("", tree).split()).partition("{")
    if not brace:
        yield head
        return
    depth, part = 0, ""
    for character in rest[:-1] + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield from (f"{head}{one}".removesuffix("::self") for one in _expanded(part) if part)
            part = ""
        else:
            part += character


def _home(path: Name, modules: Mapping[Name, str], exports: Mapping[Name, Mapping[str, Name]]) -> Name:
    """The module that has what a path names."""
    end = next(end for end in range(len(path), -1, -1) if path[:end] in modules)
    exported = exports.get(path[:end], {}).get(path[end]) if end < len(path) else None
    return _home(exported, modules, exports) if exported and exported != path else path[:end]
