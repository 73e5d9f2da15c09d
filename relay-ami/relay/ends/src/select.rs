//! What is moved, and what is left out and why: the rules of a request. Both ends ask them: nothing that a rule leaves out at the
//! source is removed at a destination.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::selection::{Links, Reason, Selection};

/// The rules of `exclude` and `include`, compiled, with the limits beside them.
#[derive(Debug)]
pub struct Selector {
    exclude: Gitignore,
    include: Option<Gitignore>,
    limits: Selection,
}

impl Selector {
    /// The refusal names the field, the rule, and what is wrong with it.
    pub fn new(selection: &Selection) -> Result<Self, String> {
        let include = (!selection.include.is_empty()).then(|| compile("include", &selection.include)).transpose()?;
        Ok(Self { exclude: compile("exclude", &selection.exclude)?, include, limits: selection.clone() })
    }

    /// Whether a rule of `exclude` matches the path, of which no directory above is excluded.
    #[must_use]
    pub fn excludes(&self, path: &[u8], is_directory: bool) -> bool {
        self.exclude.matched(as_path(path), is_directory).is_ignore()
    }

    /// Whether there is no rule of `include`, or one matches the path or a directory above it.
    #[must_use]
    pub fn includes(&self, path: &[u8], is_directory: bool) -> bool {
        self.include.as_ref().is_none_or(|rules| rules.matched_path_or_any_parents(as_path(path), is_directory).is_ignore())
    }

    /// Why something is left out of which nobody knows whether it is a directory: what a rule says of either is what its owner meant.
    #[must_use]
    pub fn leaves_out_unseen(&self, path: &[u8]) -> Option<Reason> {
        if self.excludes(path, false) || self.excludes(path, true) {
            return Some(Reason::Excluded);
        }
        (!self.includes(path, false) && !self.includes(path, true)).then_some(Reason::NotIncluded)
    }

    /// Why this is left out; none where it is moved. None of the directories above is excluded. A directory is only ever excluded:
    /// what it holds may be included.
    #[must_use]
    pub fn leaves_out(&self, path: &[u8], kind: Option<Kind>, size: u64, mtime_ns: Option<i64>) -> Option<Reason> {
        let is_directory = kind == Some(Kind::Directory);
        if self.excludes(path, is_directory) {
            return Some(Reason::Excluded);
        }
        if is_directory {
            return None;
        }
        if self.limits.links == Links::Skip && kind == Some(Kind::Symlink) {
            return Some(Reason::Link);
        }
        if !self.includes(path, false) {
            return Some(Reason::NotIncluded);
        }
        let Selection { min_size_bytes, max_size_bytes, modified_from_ns, modified_until_ns, .. } = &self.limits;
        if kind == Some(Kind::File) {
            if min_size_bytes.is_some_and(|least| size < least) {
                return Some(Reason::TooSmall);
            }
            if max_size_bytes.is_some_and(|most| size > most) {
                return Some(Reason::TooLarge);
            }
        }
        // Of a time that cannot be told no rule can tell either.
        if mtime_ns.zip(*modified_from_ns).is_some_and(|(at, from)| at < from) {
            return Some(Reason::TooOld);
        }
        mtime_ns.zip(*modified_until_ns).is_some_and(|(at, until)| at >= until).then_some(Reason::TooNew)
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

fn compile(field: &str, rules: &[String]) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    // To git, `[a` matches nothing: nobody means that.
    builder.allow_unclosed_class(false);
    for (number, rule) in rules.iter().enumerate() {
        let wrong = |why: String| format!("$.select.{field}[{number}]: {rule:?} is no rule of a gitignore file: {why}");
        if rule.contains("[:") {
            return Err(wrong("classes like [:digit:] are not known here; write [0-9]".to_owned()));
        }
        builder.add_line(None, &without_braces(rule)).map_err(|error| wrong(error.to_string()))?;
    }
    builder.build().map_err(|error| format!("$.select.{field}: {error}"))
}

/// The library takes `{a,b}` for alternatives. To git they are plain characters.
fn without_braces(rule: &str) -> String {
    let mut plain = String::with_capacity(rule.len());
    let (mut escaped, mut in_class) = (false, false);
    for character in rule.chars() {
        match character {
            '{' | '}' if !escaped && !in_class => {
                plain.push('[');
                plain.push(character);
                plain.push(']');
                continue;
            }
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = character == '\\' && !escaped;
        plain.push(character);
    }
    plain
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
