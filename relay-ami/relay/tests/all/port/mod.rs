//! The port of the ends: what each kind of source and destination must do, and that nothing around it knows which kind it has.
//!
//! A new kind joins by a [`Site`](site::Site) and a [`Field`](source::Field) of its own, named in `behaviours!`.

mod apart;
mod blob_source;
mod blobs;
mod bucket;
mod bucket_source;
mod destination;
pub mod hadoop;
mod hdfs;
mod hdfs_attributes;
mod hdfs_failover;
mod hdfs_faults;
mod hdfs_lost_answers;
mod hdfs_refused;
mod hdfs_shared;
mod hdfs_snapshots;
mod hdfs_stored;
mod memory;
mod memory_mirrored;
mod memory_source;
mod memory_state;
mod mirrored;
mod objects;
mod resumed;
pub mod s3;
#[allow(dead_code, reason = "the model asks for more")]
mod s3_faults;
mod s3_requests;
#[allow(dead_code, reason = "the model asks for more")]
mod s3_service;
mod s3_shared;
mod s3_signed;
mod shared;
mod shared_whole;
pub mod site;
mod source;
mod whole;

use std::path::{Path, PathBuf};

/// One test for each behaviour and kind.
macro_rules! kinds {
    // Of a kind that not each machine can have.
    ($kind:ident: if $make:expr => $($behaviour:ident),+ $(,)?) => {
        mod $kind {
            $(
                #[test]
                fn $behaviour() {
                    if let Some(made) = $make {
                        super::$behaviour(&made);
                    }
                }
            )+
        }
    };
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

/// What only a kind may use of the machine: cargo holds that nothing else depends on one, but not that nothing else does as it does.
const OWN: [&str; 4] = ["rustix::fs", "openat", "fs::rename", "cpt-partial"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_outside_of_a_kind_keeps_files_as_it_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found: Vec<(&str, String)> = Vec::new();
    for file in ["src", "command-line/src", "control/src", "control-aws/src", "ends/src", "process/src"]
        .iter()
        .flat_map(|folder| sources(&root.join(folder)))
    {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        if name.ends_with("_tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        found.extend(OWN.iter().filter(|word| product.contains(**word)).map(|word| (*word, name.clone())));
    }
    assert_eq!(found, []);
}
