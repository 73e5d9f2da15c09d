use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

const NAME: &str = ".cpt-partial-t";
/// An access control list as Linux keeps it: version 2, then tag, permissions and number of each entry. All may do all, user 65 534 too.
const ACL: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 254, 255, 0, 0, 4, 0, 7, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255,
    255, 32, 0, 5, 0, 255, 255, 255, 255,
];

struct Site {
    folder: tempfile::TempDir,
    homes: Homes,
}

fn open(path: &Path) -> Homes {
    let root = OwnedFd::from(File::open(path).unwrap());
    let first = Arc::new(Staging::open(&root, NAME, None).unwrap());
    Homes::open(root, NAME, None, first).unwrap()
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("team/deep")).unwrap();
        let homes = open(folder.path());
        Self { folder, homes }
    }

    fn directory(&self, path: &str) -> OwnedFd {
        self.homes.open_directory(path.as_bytes()).unwrap()
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let home = self.homes.of(b"team").unwrap();
        self.homes.create(&home, b"team", &self.directory("team"), name, 0o640)
    }

    fn create_by_name(&self, name: &str) -> io::Result<File> {
        let home = self.homes.of(b"team").unwrap();
        self.homes.create_by_name(&home, b"team", &self.directory("team"), name, new_mode(0o640))
    }

    fn staged(&self, name: &str) -> std::fs::Metadata {
        self.folder.path().join(NAME).join(name).symlink_metadata().unwrap()
    }

    fn in_team(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("team")).unwrap().count()
    }
}

#[test]
fn a_directory_that_hands_nothing_on_needs_no_look_at_itself() {
    let site = Site::new();
    for path in ["", "team", "team/deep", "not/there/yet"] {
        let home = site.homes.of(path.as_bytes()).unwrap();
        assert!(!home.hands_on() && Arc::ptr_eq(&home.staging, &site.homes.first), "{path}");
    }
    assert_eq!(site.homes.stagings().len(), 1);
}

#[test]
fn what_will_be_made_below_a_directory_that_hands_something_on_gets_it_too() {
    let site = Site::new();
    std::fs::set_permissions(site.folder.path().join("team"), Permissions::from_mode(0o2770)).unwrap();
    assert!(site.homes.of(b"team").unwrap().hands_on() && site.homes.of(b"team/new/er").unwrap().hands_on());
    assert!(!site.homes.of(b"team/deep").unwrap().hands_on() && !site.homes.of(b"").unwrap().hands_on());
}

/// Another group than the user's first one; none where there is none.
fn other_group(path: &Path) -> Option<u32> {
    let own = path.metadata().unwrap().gid();
    if rustix::process::geteuid().is_root() {
        return Some(own + 1);
    }
    rustix::process::getgroups().ok()?.iter().map(|group| group.as_raw()).find(|group| *group != own)
}

#[test]
fn a_file_of_a_directory_of_a_team_has_the_teams_group() {
    let site = Site::new();
    let team = site.folder.path().join("team");
    let Some(group) = other_group(&team) else {
        cpt_skipped::skipped("this user has but one group");
        return;
    };
    std::os::unix::fs::chown(&team, None, Some(group)).unwrap();
    std::fs::set_permissions(&team, Permissions::from_mode(0o2770)).unwrap();
    // What the umask of whoever runs this leaves of the mode.
    site.homes.first.create("anywhere", 0o640).unwrap();
    let mode = site.staged("anywhere").mode();
    site.create("1-0").unwrap();
    site.create_by_name("2-0").unwrap();
    site.create_by_name("2-0").unwrap();
    for name in ["1-0", "2-0"] {
        let found = site.staged(name);
        assert_eq!((found.gid(), found.mode(), found.nlink()), (group, mode, 1), "{name}");
    }
    assert_eq!(site.in_team(), 1, "only what was there");
}

#[test]
fn a_file_gets_the_access_control_list_of_its_directory() {
    let site = Site::new();
    let team = site.folder.path().join("team");
    if fs::setxattr(&team, "system.posix_acl_default", &ACL, fs::XattrFlags::empty()).is_err() {
        cpt_skipped::skipped("no access control lists here");
        return;
    }
    assert!(site.homes.of(b"team").unwrap().hands_on());
    site.create("1-0").unwrap();
    site.create_by_name("2-0").unwrap();
    for name in ["1-0", "2-0"] {
        let path = site.folder.path().join(NAME).join(name);
        assert!(fs::getxattr(&path, "system.posix_acl_access", &mut [0; 516][..]).is_ok_and(|bytes| bytes > 0), "{name}");
    }
}

#[test]
fn a_file_that_a_killed_process_made_in_a_directory_is_gone_with_the_next_one() {
    let site = Site::new();
    site.create_by_name("1-0").unwrap();
    let in_team = |name| site.folder.path().join("team").join(name);
    let left = in_team(".cpt-partial-t.7-0");
    // Of transfers whose names begin likewise: one has its destination here.
    let others = [".cpt-partial-u.7-0", ".cpt-partial-t-2.7-0", ".cpt-partial-t-7"].map(in_team);
    [&left, &others[0], &others[1]].iter().for_each(|path| std::fs::write(path, b"").unwrap());
    std::fs::create_dir(&others[2]).unwrap();
    let Site { folder, homes } = site;
    drop(homes);
    let again = open(folder.path());
    assert!(!left.exists() && others.iter().all(|path| path.exists()), "only what is this transfer's");
    again.remove_others(Some(&|| {})).unwrap();
    again.first.clear(&|| {}).unwrap();
    assert!(!folder.path().join(NAME).join(ELSEWHERE).exists());
}

/// Who may write to the directory could have put a link to another file there, which would get the entry's owner and mode.
#[test]
fn what_somebody_puts_in_a_new_files_place_is_not_taken_for_it() {
    let site = Site::new();
    let own = site.folder.path().join("team").join(format!("{NAME}.1-0"));
    symlink("/etc/passwd", &own).unwrap();
    assert!(site.create_by_name("1-0").unwrap().metadata().unwrap().is_file(), "planted before: removed");
    assert!(!own.exists() && site.staged("1-0").is_file());
}

#[test]
fn a_mount_that_came_after_a_look_is_found_by_the_next_one() {
    let site = Site::new();
    let before = site.homes.of(b"team").unwrap();
    assert!(Arc::ptr_eq(&before, &site.homes.of(b"team").unwrap()));
    site.homes.forget();
    assert!(!Arc::ptr_eq(&before, &site.homes.of(b"team").unwrap()));
}
