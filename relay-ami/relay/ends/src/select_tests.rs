//! The rules against git's own judgement.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// Paths of a tree, directories with a slash at their end.
const PATHS: &[&str] = &[
    "a",
    "a.o",
    "b/",
    "b/a",
    "b/a.o",
    "b/c/",
    "b/c/a",
    "b/c/d/",
    "b/c/d/a.o",
    "b/c/d/x y",
    "foo/",
    "foo/bar",
    "foo/bar.txt",
    "foo/baz/",
    "foo/baz/bar",
    "foobar",
    "x/",
    "x/foo/",
    "x/foo/bar",
    "x/foo/deep/",
    "x/foo/deep/er/",
    "x/foo/deep/er/bar",
    ".hidden",
    ".git-like/",
    ".git-like/config",
    "space ",
    "#hash",
    "!bang",
    "back\\slash",
    "{a,b}",
    "a,b",
    "[x]",
    "star*",
    "q?",
    "ä",
    "b1",
    "b2",
    "b-",
    "B",
    "trailing.",
    "-",
    "]",
    "^",
    "cache/",
    "cache/a",
    "cache/keep",
    "deep/",
    "deep/cache/",
    "deep/cache/a",
    "log.1",
    "log.10",
    "logs/",
    "logs/log.1",
    "tab\tname",
];

/// Lines of which the sets are made.
const RULES: &[&str] = &[
    "a",
    "/a",
    "a/",
    "*.o",
    "/*.o",
    "b/*.o",
    "**/a",
    "b/**",
    "b/**/a",
    "**/foo/bar",
    "foo/bar",
    "/foo/bar",
    "foo",
    "foo/",
    "/foo/",
    "foo/*",
    "foo/**",
    "foo/**/bar",
    "x/**/bar",
    "**/deep/**",
    "!a",
    "!/a",
    "!*.o",
    "!foo/",
    "!bar",
    "!foo/bar",
    "#hash",
    "\\#hash",
    "!bang",
    "\\!bang",
    "space ",
    "space\\ ",
    "space",
    "back\\\\slash",
    "{a,b}",
    "\\{a,b\\}",
    "[x]",
    "\\[x\\]",
    "[[]x[]]",
    "b[0-9]",
    "b[!0-9]",
    "b[^0-9]",
    "b[1-]",
    "b[-1]",
    "[a-c]",
    "[!a-c]",
    "[]]",
    "[]-a]",
    "[^^]",
    "star\\*",
    "star*",
    "q\\?",
    "q?",
    "?",
    "??",
    "*",
    "/*",
    "**",
    "/**",
    "!*/",
    "*/",
    "!cache/keep",
    "cache/",
    "/cache",
    "cache/*",
    "log.?",
    "log.*",
    "logs/log.?",
    "ä",
    "[ä]",
    "?*?",
    ".*",
    "!.git-like/",
    "",
    "   ",
    "/",
    "!",
    "//",
    "a//b",
    "foo//bar",
    "**/",
    "/**/",
    "a**",
    "fo**r",
    "b/**c/a",
    "**a",
    "foo/**bar",
    "trailing.",
    "-",
    "\\-",
    "tab\tname",
    "b/c/",
    "b/c",
    "/b/c/d",
    "c/d",
    "./a",
    "../a",
    "b/../a",
    "b/./a",
    "foo/\\bar",
    "\\foo",
    "foo\\/bar",
    "{b,c}/a",
    "*{a,b}*",
    "[{]a,b}",
    "[a{]*",
];

fn make(root: &Path) {
    for path in PATHS {
        if path.ends_with('/') { fs::create_dir_all(root.join(path)).unwrap() } else { fs::write(root.join(path), "").unwrap() }
    }
}

/// What git ignores of `PATHS` by these rules.
fn by_git(root: &Path, rules: &[&str]) -> Vec<String> {
    fs::write(root.join(".git/info/exclude"), rules.join("\n") + "\n").unwrap();
    let mut git = Command::new("git")
        .args(["-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let names: String = PATHS.iter().fold(String::new(), |mut text, path| {
        write!(text, "{}\0", path.trim_end_matches('/')).unwrap();
        text
    });
    git.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap().stdout;
    output.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(|name| String::from_utf8(name.to_vec()).unwrap()).collect()
}

/// The same by the walk's own order: what is in an excluded directory is not asked for.
fn by_selector(rules: &[&str]) -> Result<Vec<String>, String> {
    let selector = Selector::new(&Selection { exclude: rules.iter().map(|rule| (*rule).to_owned()).collect(), ..Selection::default() })?;
    let is_excluded = |path: &str| {
        let ends = path.match_indices('/').map(|(at, _)| at);
        ends.map(|at| (&path[..at], true))
            .chain([(path.trim_end_matches('/'), path.ends_with('/'))])
            .any(|(above, is_directory)| !above.is_empty() && selector.excludes(above.as_bytes(), is_directory))
    };
    Ok(PATHS.iter().filter(|path| is_excluded(path)).map(|path| path.trim_end_matches('/').to_owned()).collect())
}

#[test]
fn rules_leave_out_what_git_ignores() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    make(root);
    assert!(Command::new("git").args(["init", "-q"]).current_dir(root).status().unwrap().success());
    let mut sets: Vec<Vec<&str>> = RULES.iter().map(|rule| vec![*rule]).collect();
    // Sets of two to six lines, in any order.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    for _ in 0..400 {
        let length = 2 + next(5);
        sets.push((0..length).map(|_| RULES[next(RULES.len())]).collect());
    }
    let (mut differ, mut ignored) = (Vec::new(), 0);
    for rules in &sets {
        let git = by_git(root, rules);
        ignored += git.len();
        match by_selector(rules) {
            Ok(ours) if ours == git => {}
            other => differ.push(format!("{rules:?}\n    git {git:?}\n    we  {other:?}")),
        }
    }
    assert!(ignored > 5 * sets.len(), "git ignored {ignored} paths of {} sets", sets.len());
    assert!(differ.is_empty(), "{} of {} sets of rules differ:\n{}", differ.len(), sets.len(), differ.join("\n"));
}
