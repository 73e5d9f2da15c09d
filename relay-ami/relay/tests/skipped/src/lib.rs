//! A test that cannot run here says why. `make test` lists all of them at its end: a test that passes without having run looks like one
//! that did.

#![deny(unsafe_code)]

use std::fs::OpenOptions;
use std::io::Write as _;

/// Names the list; the tests in Python add to the same one.
const LIST: &str = "CPT_SKIPPED";

/// The test that calls this leaves something out: `why`.
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    let Some(list) = std::env::var_os(LIST) else { return };
    let thread = std::thread::current();
    let line = format!("{}\t{why}\n", thread.name().unwrap_or("a test of the daemon"));
    let written = OpenOptions::new().append(true).create(true).open(&list).and_then(|mut list| list.write_all(line.as_bytes()));
    if let Err(error) = written {
        eprintln!("{}: {error}", list.display());
    }
}
