//! Every parser of what comes from a socket or from the control plane, under libFuzzer. `CPT_FUZZ_TARGET` names one, and
//! `CPT_FUZZ_CORPUS` the directory that gets its seeds; `run.sh` calls it.

#![no_main]

mod documents;
#[path = "../../tests/all/fixed_keys.rs"]
mod fixed_keys;
mod seeds;
mod wire;

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// Panics when an input shows a defect.
type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 11] = [
    ("frame", wire::frame),
    ("stream", wire::stream),
    ("record", wire::record),
    ("header", wire::header),
    ("exchange", wire::exchange),
    ("command", documents::command),
    ("membership", documents::membership),
    ("plan", documents::plan),
    ("chunk", documents::chunk),
    ("entry", documents::entry),
    ("text", documents::text),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("CPT_FUZZ_TARGET").unwrap_or_default();
        let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        let target = TARGETS.iter().find(|(known, _)| *known == name);
        let (_, target) = target.unwrap_or_else(|| panic!("CPT_FUZZ_TARGET is {name:?}; one of {} is right", names.join(", ")));
        if let Some(corpus) = std::env::var_os("CPT_FUZZ_CORPUS") {
            seeds::write(&name, &PathBuf::from(corpus));
        }
        CHOSEN.get_or_init(|| *target);
    },
    |data: &[u8]| {
        if let Some(target) = CHOSEN.get() {
            target(data);
        }
    }
);
