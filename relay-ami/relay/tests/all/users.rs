//! Which user does a command's work. Only root can become another one, so that the other tests have nothing to look at
//! where they run as somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use crate::by_hand::{last_line, run, run_by_script};

const NOBODY: u32 = 65_534;
const SOMEBODY: u32 = 4_242;

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A home that everybody may look into.
fn home(directory: &Path, owner: u32) -> String {
    let home = directory.canonicalize().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&home, Some(owner), Some(owner)).unwrap();
    home.to_str().unwrap().to_owned()
}

/// A control plane that nobody reaches.
const CONTROL: &str = r#"{"region":"eu-west-1","bucket":"b","prefix":"t/",
    "partition":"arn:aws:ec2:us-west-2:000000000000:instance/i-0a+arn:aws:ec2:eu-west:000000000000:instance/i-0b+t",
    "transfersTable":"t","chunksTable":"c","bus":"b"}"#;

/// The survey of a destination, or of a source, as the control plane asks for it.
fn survey(here: &Path, side: &str, path: &str, user: Option<&str>) -> Value {
    let user = user.map_or(String::new(), |user| format!(r#","runAs":"{user}""#));
    let place = if side == "destination" {
        format!(r#""end":{{"kind":"machine","path":"{path}"{user}}}"#)
    } else {
        let control = CONTROL;
        format!(r#""end":{{"kind":"machine","paths":["{path}"]{user}}},"control":{control}"#)
    };
    let command = format!(r#"{{"schemaVersion":1,"role":"scan","transferId":"t","side":"{side}",{place}}}"#);
    fs::write(here.join("command.json"), command).unwrap();
    last_line(&run(here, &["scan", "--command", "command.json"]))
}

fn reason(survey: &Value) -> &str {
    survey["problems"][0]["reason"].as_str().unwrap_or_else(|| panic!("no problem in {survey}"))
}

#[test]
fn a_destination_is_looked_at_as_the_owner_of_its_deepest_directory() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let home = home(directory.path(), SOMEBODY);
    // Its owner cannot write here, and root could.
    fs::set_permissions(&home, PermissionsExt::from_mode(0o555)).unwrap();
    let found = survey(directory.path(), "destination", &format!("{home}/not/yet"), None);
    assert!(reason(&found).contains("cannot be written by user 4242"), "{found}");
    fs::set_permissions(&home, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(survey(directory.path(), "destination", &format!("{home}/not/yet"), None)["problemCount"], 0);
}

#[test]
fn the_user_whom_the_request_names_looks_at_both_ends() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let home = home(directory.path(), SOMEBODY);
    fs::set_permissions(&home, PermissionsExt::from_mode(0o755)).unwrap();
    let found = survey(directory.path(), "destination", &home, Some("nobody"));
    assert!(reason(&found).contains(&format!("cannot be written by user {NOBODY}")), "{found}");
    assert_eq!(survey(directory.path(), "destination", &home, Some("root"))["problemCount"], 0);
}

#[test]
fn a_user_whom_the_machine_does_not_have_is_a_problem_of_the_survey() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().canonicalize().unwrap();
    for side in ["destination", "source"] {
        let found = survey(&here, side, here.to_str().unwrap(), Some("no-such-user"));
        assert_eq!(found["problemCount"], 1, "{found}");
        for word in ["runAs", "no-such-user", "/etc/passwd", "number"] {
            assert!(reason(&found).contains(word), "{found}");
        }
        // The contract wants to know which directory it is, whatever else is wrong.
        assert!(side == "source" || !found["ways"].as_array().unwrap().is_empty(), "{found}");
    }
}

#[test]
fn who_is_not_root_cannot_become_another_user_and_says_so() {
    if is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let found = survey(directory.path(), "destination", directory.path().to_str().unwrap(), Some("0"));
    assert!(reason(&found).contains("started as root"), "{found}");
}

/// Where a user has a link of its own in place of the destination, or on the way to it, root goes nowhere.
#[test]
fn a_link_that_the_owner_of_a_home_planted_is_not_followed_by_root() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let home = home(directory.path(), SOMEBODY);
    fs::create_dir(directory.path().join("etc")).unwrap();
    let link = format!("{home}/backups");
    symlink(directory.path().join("etc"), &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    for path in [link.clone(), format!("{link}/in")] {
        let found = survey(directory.path(), "destination", &path, None);
        for word in [&*link, "user 4242", "etc", "runAs"] {
            assert!(reason(&found).contains(word), "{found}");
        }
        // As that user it leads to where that user may not write.
        let found = survey(directory.path(), "destination", &path, Some("4242"));
        assert!(reason(&found).contains("cannot be written by user 4242"), "{found}");
    }
    let here = directory.path();
    fs::create_dir(here.join("source")).unwrap();
    fs::write(here.join("source/x"), "x").unwrap();
    assert!(run(here, &["plan", "--control-dir", "control", "source/"]).status.success());
    let refused = run(here, &["receive", "--control-dir", "control", "--listen", "127.0.0.1:0", &format!("{link}/in")]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("DestinationError") && said.contains("user 4242"), "{said}");
    assert_eq!(fs::read_dir(here.join("etc")).unwrap().count(), 0);
    assert_eq!(fs::metadata(here.join("etc")).unwrap().uid(), 0);
}

/// What the receiver's unit may write: the destination, made by whom the receiver will be.
#[test]
fn a_destination_is_made_by_its_owner_and_printed_as_a_word_of_systemd() {
    let directory = tempfile::tempdir().unwrap();
    let owner = if is_root() { SOMEBODY } else { rustix::process::geteuid().as_raw() };
    let home = home(directory.path(), owner);
    let path = format!(r#"{home}/with \"quotes\" and space/deep"#);
    let control = CONTROL;
    let command = format!(
        r#"{{"schemaVersion":1,"role":"receive","transferId":"t","control":{control},"seat":"r0","epoch":1,"listen":["127.0.0.1:1"],"end":{{"kind":"machine","path":"{path}"}},"plan":"p"}}"#
    );
    fs::write(directory.path().join("command.json"), command).unwrap();
    let made = run(directory.path(), &["make-destination", "--command", "command.json"]);
    assert_eq!(String::from_utf8(made.stdout).unwrap(), format!("\"{path}\"\n"), "{}", String::from_utf8_lossy(&made.stderr));
    let found = fs::metadata(format!("{home}/with \"quotes\" and space/deep")).unwrap();
    assert_eq!((found.uid(), found.gid(), found.is_dir()), (owner, if is_root() { owner } else { found.gid() }, true));
}

/// A destination below `above`, made for the receiver by its script: the modes of the two directories that did not exist, and the group
/// and default access control list of the last one.
fn made_below(here: &Path, above: &str) -> ([u32; 2], u32, Option<Vec<u8>>) {
    let control = CONTROL;
    let command = format!(
        r#"{{"schemaVersion":1,"role":"receive","transferId":"t","control":{control},"seat":"r0","epoch":1,"listen":["127.0.0.1:1"],"end":{{"kind":"machine","path":"{above}/new/deep"}},"plan":"p"}}"#
    );
    fs::write(here.join("command.json"), command).unwrap();
    let made = run_by_script(here, &["make-destination", "--command", "command.json"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let deep = format!("{above}/new/deep");
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let mut acl = vec![0; 256];
    let size = rustix::fs::getxattr(&deep, DEFAULT_ACL, &mut acl).ok();
    ([mode(&format!("{above}/new")), mode(&deep)], fs::metadata(&deep).unwrap().gid(), size.map(|size| acl[..size].to_vec()))
}

const DEFAULT_ACL: &str = "system.posix_acl_default";

/// `user::rwx,user:1234:rwx,group::r-x,mask::rwx,other::---`, as the kernel writes it: tag, permissions, user.
fn default_acl() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [(1, 7, u32::MAX), (2, 7, 1234), (4, 5, u32::MAX), (16, 7, u32::MAX), (32, 0, u32::MAX)];
    let bytes = entries.iter().flat_map(|(tag, mode, id)| [&tag.to_le_bytes()[..], &mode.to_le_bytes(), &id.to_le_bytes()].concat());
    2_u32.to_le_bytes().into_iter().chain(bytes).collect()
}

#[test]
fn directories_of_a_destination_are_open_to_others_as_the_directory_above_them_says() {
    let directory = tempfile::tempdir().unwrap();
    let owner = if is_root() { SOMEBODY } else { rustix::process::geteuid().as_raw() };
    let home = home(directory.path(), owner);
    let (modes, _, acl) = made_below(directory.path(), &home);
    assert_eq!((modes, acl), ([0o755; 2], None));
    fs::remove_dir_all(format!("{home}/new")).unwrap();
    let group = fs::metadata(&home).unwrap().gid();
    fs::set_permissions(&home, PermissionsExt::from_mode(0o2775)).unwrap();
    let (modes, its_group, _) = made_below(directory.path(), &home);
    assert_eq!((modes, its_group), ([0o2755; 2], group), "the group is handed on");
    fs::remove_dir_all(format!("{home}/new")).unwrap();
    fs::set_permissions(&home, PermissionsExt::from_mode(0o755)).unwrap();
    rustix::fs::setxattr(&home, DEFAULT_ACL, &default_acl(), rustix::fs::XattrFlags::empty()).unwrap();
    let (modes, _, acl) = made_below(directory.path(), &home);
    assert_eq!((modes, acl), ([0o770; 2], Some(default_acl())), "where the directory above has a list of its own, no umask counts");
}
