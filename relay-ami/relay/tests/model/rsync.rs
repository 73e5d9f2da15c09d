//! The second judge: what rsync would do to make a destination what its source is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::seen::KEPT;

/// An entry that rsync would change or delete.
#[derive(Debug)]
pub struct Difference {
    /// Eleven letters, as `--itemize-changes` writes them.
    pub what: String,
    pub path: Vec<u8>,
}

impl Difference {
    pub fn is_deletion(&self) -> bool {
        self.what.starts_with('*')
    }

    /// Whether nothing but its time is another one.
    pub fn is_time_alone(&self, kind: char) -> bool {
        let mut letters = self.what.chars();
        letters.next() == Some('.') && letters.next() == Some(kind) && letters.all(|letter| matches!(letter, '.' | 't'))
    }
}

/// Whether the program is here.
pub fn is_here() -> bool {
    let found = Command::new("rsync").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// All differences but that of the top itself, which no transfer sends. Without `by_content` a file of one size and time is equal.
pub fn differences(source: &Path, destination: &Path, by_content: bool) -> Result<Vec<Difference>, String> {
    let mut command = Command::new("rsync");
    command.args(["-aHAXSni", "--delete", "-8", "--out-format=%i %n", &format!("--exclude=/{KEPT}")]);
    command.args(by_content.then_some("--checksum")).arg(source.join("")).arg(destination.join(""));
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("rsync says {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read = |line: &[u8]| {
        let (what, path) = line.split_at_checked(12).ok_or_else(|| format!("rsync prints {:?}", OsStr::from_bytes(line)))?;
        let path = plain(path);
        let path = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
        Ok(Difference { what: String::from_utf8_lossy(what).trim().to_owned(), path })
    };
    let found: Result<Vec<Difference>, String> = lines.map(read).collect();
    Ok(found?.into_iter().filter(|difference| difference.path != b".").collect())
}

/// A path as it is: rsync writes what is no text as `\#` and three octal digits.
fn plain(text: &[u8]) -> Vec<u8> {
    let (mut path, mut rest) = (Vec::new(), text);
    while let Some((first, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"#").and_then(|after| after.split_at_checked(3));
        let byte = digits.filter(|_| *first == b'\\').and_then(|(digits, _)| std::str::from_utf8(digits).ok());
        if let Some(byte) = byte.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            path.push(byte);
            rest = &after[4..];
        } else {
            path.push(*first);
            rest = after;
        }
    }
    path
}
