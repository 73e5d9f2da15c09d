"""Which modules of a crate use each other, by what their files name."""

from pathlib import Path

from tools import rust_modules, structure


def crate(folder: Path, files: dict[str, str]) -> dict[str, set[str]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return rust_modules.uses(folder)


def test_modules_use_what_their_imports_and_their_code_name(tmp_path: Path) -> None:
    uses = crate(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\npub mod c;\n",
            "a.rs": "use std::io;\n\nuse crate::b::{self, B};\nuse super::c::{d::{D, E as F}, g};\n",
            "b.rs": "// crate::a::A\nfn b() { crate::c::g::g() }\n",
            "c/mod.rs": "mod d;\npub mod g;\n",
            "c/d.rs": "",
            "c/g.rs": "use super::d::D;\n",
        },
    )
    assert uses == {"": set(), "a": {"b", "c::d", "c::g"}, "b": {"c::g"}, "c": set(), "c::d": set(), "c::g": {"c::d"}}


def test_what_a_folder_re_exports_is_used_of_the_module_that_has_it(tmp_path: Path) -> None:
    uses = crate(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod c;\n",
            "a.rs": "use crate::c::{D, shared};\n",
            "c/mod.rs": "mod d;\n\npub use d::D;\n\npub fn shared() {}\n",
            "c/d.rs": "",
        },
    )
    assert uses["a"] == {"c", "c::d"}


def test_files_of_one_module_are_one_and_its_tests_are_none_of_it(tmp_path: Path) -> None:
    uses = crate(
        tmp_path,
        {
            "lib.rs": "mod a;\n#[cfg(test)]\nmod builders;\nmod z;\n",
            "a.rs": 'mod part;\n\nuse part::P;\n\n#[cfg(test)]\n#[path = "a_tests.rs"]\nmod tests;\n',
            "a/part.rs": "use super::A;\n\n#[cfg(test)]\nmod tests {\n    use crate::z::Z;\n}\n",
            "a_tests.rs": "use crate::z::Z;\n",
            "builders.rs": "use crate::z::Z;\n",
            "z.rs": "",
        },
    )
    assert uses == {"": set(), "a": set(), "z": set()}


def test_only_what_leads_back_is_a_circle() -> None:
    uses = {"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": set[str]()}
    assert structure.leading_back(uses) == ["a -> b", "b -> c", "c -> a"]
