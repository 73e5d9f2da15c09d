//! The port of the ends: what each kind of source and destination must do, and that nothing around it knows which kind it has.
//!
//! A new kind joins by a [`Site`](site::Site) and a [`Field`](source::Field) of its own, named in `behaviours!`.

mod destination;
mod memory;
mod memory_mirrored;
mod memory_source;
mod memory_state;
mod mirrored;
mod site;
mod source;
mod whole;

use std::path::{Path, PathBuf};

/// One test for each behaviour and kind.
macro_rules! kinds {
    ($kind:ident: $make:expr => $($behaviour:ident),+ $(,)?) => {
        mod $kind {
            $(
                #[test]
                fn $behaviour() {
                    super::$behaviour(&$make);
                }
            )+
        }
    };
}
pub(crate) use kinds;

/// What only an end of the kind may use, and the files elsewhere that have a reason of their own.
const OWN: [(&str, &[&str]); 5] = [
    ("ends::posix", &["cli/allowed_paths.rs", "cli/roles.rs", "cli/run_as.rs"]),
    ("rustix::fs", &[]),
    ("openat", &[]),
    ("fs::rename", &[]),
    ("cpt-partial", &[]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_outside_of_the_ends_knows_how_they_keep_files_and_only_the_command_line_chooses_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
    let mut found: Vec<(&str, String)> = Vec::new();
    for file in sources(&root) {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        if name.starts_with("ends/") || name.ends_with("_tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        found.extend(OWN.iter().filter(|(word, _)| product.contains(word)).map(|(word, _)| (*word, name.clone())));
    }
    let mut allowed: Vec<(&str, String)> =
        OWN.iter().flat_map(|(word, files)| files.iter().map(|file| (*word, (*file).to_owned()))).collect();
    found.sort();
    allowed.sort();
    assert_eq!(found, allowed);
}
