//! As whom of Kerberos a transfer may come to HDFS: a file of root's says where the keys of a user of HDFS are on this machine.

use std::path::{Path, PathBuf};

use cpt_ends_posix::read_owners_file;

/// The file. A unit of the local cloud, whose machines share one file system, has the variable.
const FILE: &str = "/etc/cpt/hdfs-kerberos";
const VARIABLE: &str = "CPT_HDFS_KERBEROS";
const RIGHT: &str = "keytab USER /FILE PRINCIPAL, cache USER /FILE, or program /FILE";

/// How a user of HDFS proves who he is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// A file with his key.
    Table { file: PathBuf, principal: String },
    /// A credential cache, which somebody else keeps fresh.
    Cache(PathBuf),
}

/// What the file says of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub keys: Keys,
    /// Hadoop's own `hdfs`.
    pub program: PathBuf,
}

impl Identity {
    /// That of a user of HDFS on this machine. The error says what line there would have to be.
    pub fn of(user: &str) -> Result<Self, String> {
        let file = std::env::var_os(VARIABLE).map_or_else(|| FILE.into(), PathBuf::from);
        let text = read_owners_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::in_text(text.as_deref().unwrap_or_default(), user).map_err(|why| format!("{}: {why}", file.display()))
    }

    /// Lines are `keytab USER /FILE PRINCIPAL`, `cache USER /FILE`, `program /FILE`, empty, or begin with `#`.
    fn in_text(text: &str, user: &str) -> Result<Self, String> {
        let (mut keys, mut program) = (None, PathBuf::from("hdfs"));
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_path = |path: &str| path.starts_with('/');
            let (of, found) = match words.as_slice() {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                ["program", path] if is_path(path) => {
                    program = PathBuf::from(path);
                    continue;
                }
                ["keytab", of, path, principal] if is_path(path) => {
                    (of, Keys::Table { file: PathBuf::from(path), principal: (*principal).to_owned() })
                }
                ["cache", of, path] if is_path(path) => (of, Keys::Cache(PathBuf::from(path))),
                _ => return Err(format!("line {} is {line:?}; it should be {RIGHT}", number + 1)),
            };
            if *of == user && keys.replace(found).is_some() {
                return Err(format!("line {} is another one of {user}; there should be one", number + 1));
            }
        }
        let missing = || format!("has no line of {user}; it would be keytab {user} /FILE PRINCIPAL, or cache {user} /FILE");
        Ok(Self { keys: keys.ok_or_else(missing)?, program })
    }

    /// What a program of Hadoop has in its environment to be that user.
    pub fn environment(&self) -> Vec<(&'static str, &Path)> {
        match &self.keys {
            Keys::Table { file, principal } => vec![("KRB5KEYTAB", file), ("KRB5PRINCIPAL", Path::new(principal))],
            Keys::Cache(file) => vec![("KRB5CCNAME", file)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# the owner's\n\nkeytab etl /etc/etl.keytab etl@EXAMPLE.COM\ncache ops /var/lib/ops/cc\nprogram /opt/hadoop/bin/hdfs\n";

    #[test]
    fn a_user_has_the_keys_that_his_line_names() {
        let etl = Identity::in_text(TEXT, "etl").unwrap();
        assert_eq!(etl.keys, Keys::Table { file: "/etc/etl.keytab".into(), principal: "etl@EXAMPLE.COM".to_owned() });
        assert_eq!(etl.program, Path::new("/opt/hadoop/bin/hdfs"));
        let ops = Identity::in_text(TEXT, "ops").unwrap();
        assert_eq!(ops.environment(), [("KRB5CCNAME", Path::new("/var/lib/ops/cc"))]);
    }

    #[test]
    fn a_user_without_a_line_is_told_what_it_would_be() {
        for text in ["", TEXT] {
            let why = Identity::in_text(text, "admin").unwrap_err();
            assert!(why.contains("keytab admin /FILE PRINCIPAL"), "{why}");
        }
    }

    #[test]
    fn a_line_that_is_not_understood_is_refused_by_its_number() {
        for (line, number) in [("keytab etl /f", 1), ("cache etl f", 1), ("\nkeytab etl f p", 2), ("program hdfs", 1), ("etl /f", 1)] {
            let why = Identity::in_text(line, "etl").unwrap_err();
            assert!(why.contains(&format!("line {number} is")), "{why}");
        }
        let twice = Identity::in_text("cache etl /a\ncache etl /b", "etl").unwrap_err();
        assert!(twice.contains("line 2 is another one of etl"), "{twice}");
    }
}
