//! What the owner of a machine lets transfers reach there: a file of root's names directories for reading and for writing. Without the
//! file that is everything.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::reach::{Reached, reach_anywhere};

/// The file. A unit of the local cloud, whose machines share one file system, has the variable.
const FILE: &str = "/etc/cpt/allowed-paths";
const VARIABLE: &str = "CPT_ALLOWED_PATHS";
/// More than anybody writes by hand.
const LONGEST: u64 = 1 << 20;
/// Directories that a message names.
const NAMED: usize = 5;

/// What of this machine the command of this process may reach.
static ENFORCED: OnceLock<Allowed> = OnceLock::new();

/// What a process does with the paths of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Directories of which everything beneath may be reached.
#[derive(Clone, Debug)]
pub struct Allowed {
    file: PathBuf,
    access: Access,
    directories: Vec<PathBuf>,
    /// Directories of HDFS, and as which user of it.
    hdfs: Vec<(String, String)>,
}

/// Lets this process reach nothing but what the file says; everything where there is no file. To be called while the process still is
/// the user who started it.
pub fn enforce(access: Access) -> io::Result<()> {
    let file = std::env::var_os(VARIABLE).map_or_else(|| FILE.into(), PathBuf::from);
    if let Some(allowed) = Allowed::read(&file, access)? {
        let _ = ENFORCED.set(allowed);
    }
    Ok(())
}

/// Fails where the file does not say that transfers may reach these paths of HDFS as this user of it. To be called while the process still
/// is the user who started it.
pub fn enforce_hdfs<'a>(access: Access, user: &str, paths: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    let file = std::env::var_os(VARIABLE).map_or_else(|| FILE.into(), PathBuf::from);
    let Some(allowed) = Allowed::read(&file, access)? else { return Ok(()) };
    paths.into_iter().try_for_each(|path| allowed.check_hdfs(user, path))
}

/// What is enforced in this process.
pub fn enforced() -> Option<&'static Allowed> {
    ENFORCED.get()
}

impl Allowed {
    /// Lines of the file: `read` or `write`, a blank, and an absolute path up to the line's end; `read-hdfs` or `write-hdfs`, a user of
    /// HDFS, and an absolute path in it; also empty ones, and those that begin with `#`. None without a file.
    pub fn read(file: &Path, access: Access) -> io::Result<Option<Self>> {
        let of_file = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let Some(text) = read_owners_file(file).map_err(of_file)? else { return Ok(None) };
        let (mut directories, mut hdfs) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let right = "read or write and an absolute path, or read-hdfs or write-hdfs, a user of HDFS and an absolute path";
            let wrong = || of_file(io::Error::other(format!("line {} is {line:?}; it should be {right}", number + 1)));
            let (word, rest) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
            let (of, user, path) = match (word.strip_suffix("-hdfs"), rest.trim_start().split_once(char::is_whitespace)) {
                (Some(of), Some((user, path))) => (of, Some(user), path.trim_start()),
                (Some(_), None) => return Err(wrong()),
                (None, _) => (word, None, rest.trim_start()),
            };
            let of = [Access::Read, Access::Write].into_iter().find(|access| access.to_string() == of).ok_or_else(wrong)?;
            if !path.starts_with('/') {
                return Err(wrong());
            }
            match user {
                _ if of != access => {}
                Some(user) => hdfs.push((user.to_owned(), path.to_owned())),
                None => directories.push(PathBuf::from(path)),
            }
        }
        Ok(Some(Self { file: file.to_owned(), access, directories, hdfs }))
    }

    /// HDFS has neither links nor `..`, so paths are compared as text.
    fn check_hdfs(&self, user: &str, path: &str) -> io::Result<()> {
        let names = |path: &str| path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect::<Vec<_>>();
        let asked = names(path);
        let is_plain = !asked.iter().any(|name| name == "..");
        if is_plain && self.hdfs.iter().any(|(who, directory)| who == user && asked.starts_with(&names(directory))) {
            return Ok(());
        }
        let words =
            format!("hdfs:{path} is not among what transfers may {} as {user}: {} has no such line", self.access, self.file.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{words}; it would be {}-hdfs {user} {path}", self.access)))
    }

    /// Where the directories are now: a file system may have been mounted since.
    pub fn now(&self) -> Gate<'_> {
        let places = self.directories.iter().filter_map(|path| Place::of(&reach_anywhere(path.as_os_str().as_bytes()).ok()?).ok());
        Gate { allowed: self, places: places.collect() }
    }
}

/// The text of a file of the machine's owner; none where there is no file. Nobody but root, and the user of this process, may be able to
/// change it or take it away.
pub fn read_owners_file(file: &Path) -> io::Result<Option<String>> {
    let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else { return Err(Errno::INVAL.into()) };
    let found = reach_anywhere(parent.as_os_str().as_bytes())?;
    if !found.missing.is_empty() {
        return Ok(None);
    }
    check_owner(&found.directory)?;
    let opened =
        match fs::openat(&found.directory, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened?,
        };
    check_owner(&opened)?;
    if FileType::from_raw_mode(fs::fstat(&opened)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("is no regular file"));
    }
    let mut text = String::new();
    File::from(opened).take(LONGEST + 1).read_to_string(&mut text)?;
    // The part of a path that is left of a line names another directory, above the one that was meant.
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("is longer than {LONGEST} bytes")));
    }
    Ok(Some(text))
}

fn check_owner(of: impl AsFd) -> io::Result<()> {
    let stat = fs::fstat(of)?;
    let is_own = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    if is_own && stat.st_mode & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "user {} owns it or its directory, mode {:o}: both should be root's, and nobody else should be able to write there",
            stat.st_uid,
            stat.st_mode & 0o7777
        ),
    ))
}

/// A directory by what it is; with the names that are still missing of its path.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    device: u64,
    inode: u64,
    missing: Vec<Vec<u8>>,
}

impl Place {
    fn of(reached: &Reached) -> io::Result<Self> {
        let stat = fs::fstat(&reached.directory)?;
        Ok(Self { device: stat.st_dev, inode: stat.st_ino, missing: reached.missing.clone() })
    }
}

/// What may be reached, on one way.
pub struct Gate<'a> {
    allowed: &'a Allowed,
    places: Vec<Place>,
}

impl Gate<'_> {
    /// Returns whether a way through this directory leads to what is allowed.
    pub fn is_opened_by(&self, directory: &OwnedFd) -> io::Result<bool> {
        let stat = fs::fstat(directory)?;
        Ok(self.places.iter().any(|place| place.missing.is_empty() && (place.device, place.inode) == (stat.st_dev, stat.st_ino)))
    }

    /// Returns whether what is yet to be made there is allowed, or is to be beneath what is.
    pub fn is_opened_by_making(&self, reached: &Reached) -> io::Result<bool> {
        let found = Place::of(reached)?;
        Ok(self
            .places
            .iter()
            .any(|place| (place.device, place.inode) == (found.device, found.inode) && found.missing.starts_with(&place.missing)))
    }

    /// Says why `path` is not.
    pub fn refusal(&self, path: &Path) -> io::Error {
        let Allowed { file, access, directories, .. } = self.allowed;
        let named: Vec<String> = directories.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let (named, more) = (named.join(", "), if directories.len() > NAMED { ", …" } else { "" });
        let named = if named.is_empty() { "nothing".to_owned() } else { named };
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{path:?} is not among what transfers may {access} on this machine: {} names {named}{more}", file.display()),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs as files;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::reach::reach_within;
    use super::*;

    /// A directory of a test, and a list in it.
    fn listed(text: &str, access: Access) -> (tempfile::TempDir, Allowed) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("allowed-paths");
        files::write(&file, text.replace("HERE", directory.path().to_str().unwrap())).unwrap();
        files::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let allowed = Allowed::read(&file, access).unwrap().unwrap();
        (directory, allowed)
    }

    /// Whether `path` may be reached, or `name` in it.
    fn may(allowed: &Allowed, path: &Path, name: Option<&str>) -> bool {
        match reach_within(path.as_os_str().as_bytes(), name.map(str::as_bytes), Some(&allowed.now())) {
            Ok(_) => true,
            Err(error) => {
                assert!(error.to_string().contains("is not among what transfers may"), "{error}");
                false
            }
        }
    }

    #[test]
    fn without_a_file_everything_may_be_reached() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["none", "no/directory"] {
            assert!(Allowed::read(&directory.path().join(file), Access::Read).unwrap().is_none());
        }
    }

    #[test]
    fn what_lies_beneath_a_named_directory_may_be_reached_and_nothing_beside_it() {
        let (directory, allowed) = listed("# the owner's\n\nread HERE/data with blank\nwrite HERE/other\n", Access::Read);
        let here = directory.path();
        for path in ["data with blank/deep", "other", "data with blank2"] {
            files::create_dir_all(here.join(path)).unwrap();
        }
        for path in ["data with blank", "data with blank/deep", "data with blank/missing/too"] {
            assert!(may(&allowed, &here.join(path), None), "{path}");
        }
        for path in ["", "other", "data with blank2", "missing", "data with blank/../other", "data with blank/deep/../.."] {
            assert!(!may(&allowed, &here.join(path), None), "{path}");
        }
        assert!(may(&allowed, here, Some("data with blank")) && !may(&allowed, here, Some("other")), "the directory by its name");
        assert!(may(&allowed, &here.join("data with blank"), Some("file")));
    }

    #[test]
    fn of_hdfs_what_is_named_with_its_user_may_be_reached_and_nothing_else() {
        let (_directory, allowed) = listed("read /\nread-hdfs etl /data/a\nwrite-hdfs etl /\nread-hdfs root /data/b\n", Access::Read);
        for path in ["/data/a", "/data/a/", "//data/a/x"] {
            allowed.check_hdfs("etl", path).unwrap();
        }
        for (user, path) in [("etl", "/data"), ("etl", "/data/b"), ("etl", "/data/ab"), ("root", "/data/a"), ("etl", "/data/a/../b")] {
            let refusal = allowed.check_hdfs(user, path).unwrap_err().to_string();
            assert!(refusal.contains(&format!("read-hdfs {user} {path}")), "{refusal}");
        }
    }

    #[test]
    fn a_link_opens_nothing_and_closes_nothing() {
        let (directory, allowed) = listed("write HERE/backup\n", Access::Write);
        let here = directory.path();
        for path in ["backup/inner", "secret"] {
            files::create_dir_all(here.join(path)).unwrap();
        }
        symlink(here.join("secret"), here.join("backup/out")).unwrap();
        symlink("../../secret", here.join("backup/inner/out")).unwrap();
        symlink(here.join("backup"), here.join("in")).unwrap();
        assert!(!may(&allowed, &here.join("backup/out"), None) && !may(&allowed, &here.join("backup/inner/out"), None));
        assert!(may(&allowed, &here.join("in"), None) && may(&allowed, &here.join("in/inner"), None));
        assert!(!may(&allowed, here, Some("in")), "the link itself is not in the directory");
    }

    #[test]
    fn a_directory_that_is_still_to_be_made_may_be_named() {
        let (directory, allowed) = listed("write HERE/new/deep\n", Access::Write);
        let here = directory.path();
        for (path, expected) in [("new/deep", true), ("new/deep/er", true), ("new", false), ("new/other", false), ("newer/deep", false)] {
            assert_eq!(may(&allowed, &here.join(path), None), expected, "{path}");
        }
    }

    #[test]
    fn an_empty_file_allows_nothing_and_the_root_everything() {
        let (directory, none) = listed("", Access::Read);
        let (_other, all) = listed("read /\n", Access::Read);
        assert!(!may(&none, directory.path(), None) && !may(&none, Path::new("/"), None));
        assert!(may(&all, directory.path(), None) && may(&all, Path::new("/"), None) && may(&all, Path::new("/"), Some("etc")));
    }

    #[test]
    fn a_line_that_is_not_understood_is_refused_by_its_number() {
        for (text, number) in [
            ("read data\n", 1),
            ("# ok\nreads /data\n", 2),
            ("read\n", 1),
            ("/data\n", 1),
            ("read-hdfs /data\n", 1),
            ("read-hdfs a b\n", 1),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("allowed-paths");
            files::write(&file, text).unwrap();
            files::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
            let error = Allowed::read(&file, Access::Write).unwrap_err().to_string();
            assert!(error.contains(&format!("line {number} is")) && error.contains("allowed-paths"), "{error}");
        }
    }

    #[test]
    fn a_file_too_long_to_be_read_whole_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("allowed-paths");
        for (length, is_read) in [(LONGEST, true), (LONGEST + 1, false)] {
            files::write(&file, "#".repeat(usize::try_from(length).unwrap())).unwrap();
            files::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
            assert_eq!(Allowed::read(&file, Access::Read).is_ok(), is_read, "{length}");
        }
    }

    #[test]
    fn a_file_that_others_may_change_or_take_away_is_refused() {
        for (of_directory, of_file) in [(0o777, Some(0o644)), (0o775, None), (0o755, Some(0o666)), (0o755, Some(0o664))] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("allowed-paths");
            if let Some(mode) = of_file {
                files::write(&file, "read /\n").unwrap();
                files::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            }
            files::set_permissions(directory.path(), PermissionsExt::from_mode(of_directory)).unwrap();
            let error = Allowed::read(&file, Access::Read).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{of_directory:o} {of_file:?}: {error}");
        }
    }
}
