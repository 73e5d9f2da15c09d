//! Sources that live while they are listed: what vanishes is counted, and what a rule leaves out is not looked at.

use std::fs;
use std::path::Path;

use cpt_ends_posix::PosixSource;
use cpt_relay::documents::selection::{Reason, Selection};
use cpt_relay::ends::{Listed, Source as _};

/// What listing a directory gives, a line each; `meanwhile` happens as soon as the first entry is given.
fn listed(root: &Path, exclude: &[&str], meanwhile: impl FnOnce()) -> Vec<String> {
    let exclude = exclude.iter().map(|rule| (*rule).to_owned()).collect();
    let source = PosixSource::new(vec![root.join("")]).selecting(Selection { exclude, ..Selection::default() });
    let (mut lines, mut meanwhile) = (Vec::new(), Some(meanwhile));
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let each = &mut |listed| {
        lines.push(match listed {
            Listed::Entry(entry) => entry.path,
            Listed::LeftOut(path, reason) => format!("{}: {reason:?}", text(&path)),
            Listed::Unkept(names) => format!("{names:?}"),
            Listed::Problem(path, why) => format!("{}: {why}", text(&path)),
        });
        if let Some(meanwhile) = meanwhile.take() {
            meanwhile();
        }
        Ok(())
    };
    source.list(each).unwrap();
    lines
}

fn source() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("d/below")).unwrap();
    for name in ["a", "d/below/f", "session", "z"] {
        fs::write(folder.path().join(name), b"x").unwrap();
    }
    folder
}

#[test]
fn what_vanishes_while_it_is_listed_is_counted_and_all_else_is_listed() {
    let folder = source();
    let lines = listed(folder.path(), &[], || {
        fs::remove_file(folder.path().join("session")).unwrap();
        fs::remove_dir_all(folder.path().join("d")).unwrap();
    });
    let gone = |path: &str| format!("{path}: {:?}", Reason::Gone);
    assert_eq!(lines, ["a".to_owned(), gone("d"), gone("session"), "z".to_owned()]);
}

#[test]
fn what_a_rule_leaves_out_is_left_out_by_it_whether_it_can_be_looked_at_or_not() {
    let folder = source();
    let lines = listed(folder.path(), &["sess*", "d/"], || {
        fs::remove_file(folder.path().join("session")).unwrap();
        fs::remove_dir_all(folder.path().join("d")).unwrap();
    });
    let excluded = |path: &str| format!("{path}: {:?}", Reason::Excluded);
    assert_eq!(lines, ["a".to_owned(), excluded("d"), excluded("session"), "z".to_owned()]);
}

#[test]
fn a_path_of_the_request_that_is_gone_is_a_problem() {
    let folder = source();
    let paths = ["a", "session"].map(|name| folder.path().join(name));
    let mut problems = Vec::new();
    let each = &mut |listed| {
        match listed {
            Listed::Entry(_) => drop(fs::remove_file(&paths[1])),
            Listed::Unkept(_) => {}
            Listed::LeftOut(path, _) | Listed::Problem(path, _) => problems.push(path),
        }
        Ok(())
    };
    PosixSource::new(paths.to_vec()).list(each).unwrap();
    let [problem] = &*problems else { panic!("{problems:?}") };
    assert!(problem.ends_with(b"/session"));
}
