//! Why a destination cannot keep what a request asks for, found out before anything moves.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{self, XattrFlags};
use rustix::io::Errno;

use super::nameless::nameless;
use super::roots::reach;
use cpt_wire::documents::attributes::Preserve;

/// No program's attribute.
const ATTRIBUTE: &str = "user.cpt-probe";
const ACL: &str = "system.posix_acl_access";
/// The list of mode 0600 as Linux keeps it: version 2, then tag, permissions and number of owner, group and others.
const LIST: [u8; 28] = [2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 0, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255];

/// Returns why this process cannot keep what is asked for at `destination`, if it cannot.
#[must_use]
pub fn cannot_keep(destination: &Path, preserve: &Preserve) -> Option<String> {
    let user = rustix::process::geteuid();
    if preserve.owners.is_some() && !user.is_root() {
        let own = user.as_raw();
        return Some(format!(
            "preserve.owners needs root at the destination, and this is written as user {own}: set destination.runAs to \"root\""
        ));
    }
    let asked = [
        (preserve.xattrs, "xattrs", "extended attributes", ATTRIBUTE, &b"x"[..]),
        (preserve.acls, "acls", "access control lists", ACL, &LIST[..]),
    ];
    // A file that nobody sees tells; where there is none, nothing is known.
    let file = asked.iter().any(|(is_asked, ..)| *is_asked).then(|| reach(destination.as_os_str().as_bytes()).ok());
    let file = file.flatten().and_then(|found| nameless(&found.directory).ok())?;
    asked.iter().find_map(|(is_asked, key, what, name, value)| {
        let refused = *is_asked && matches!(fs::fsetxattr(&file, *name, value, XattrFlags::empty()), Err(Errno::NOTSUP));
        refused.then(|| format!("preserve.{key}: its file system keeps no {what}: leave preserve.{key} out, or take another destination"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_not_refused_and_nothing_is_left_of_the_look() {
        let folder = tempfile::tempdir().unwrap();
        let before = folder.path().metadata().unwrap().modified().unwrap();
        let wish = Preserve { xattrs: true, acls: true, ..Preserve::default() };
        let _ = cannot_keep(folder.path(), &wish);
        assert_eq!(cannot_keep(Path::new("/proc/self"), &Preserve::default()), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(folder.path().metadata().unwrap().modified().unwrap(), before);
    }
}
