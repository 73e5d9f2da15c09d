//! Becoming another user: what reads or writes in somebody's directory does it as that user, so that nothing it is pointed
//! at is open to it that was not open to its owner.
//!
//! Names come from `/etc/passwd` and `/etc/group` alone: the program is static, and a directory service is not asked.

use std::path::Path;

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Group of a user that has no entry and owns nothing that could name one: `nogroup`.
const NO_GROUP: u32 = 65_534;

/// Why the process cannot be that user; the text is for the one who asked.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("runAs is {0:?}, and /etc/passwd of this machine has no such user: name one that it has, or give a number")]
    Unknown(String),
    #[error("runAs is {wanted:?}, and the daemon runs as user {own}: it can become another user only if it is started as root")]
    NotRoot { wanted: String, own: u32 },
    #[error("cannot become user {uid}: {why}")]
    Refused { uid: u32, why: String },
    #[error("/etc/{file} cannot be read: {why}")]
    Unreadable { file: &'static str, why: String },
    #[error("the process has {0} threads already; only its first can become another user for all")]
    Late(usize),
}

/// A user with all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// The system's users and groups.
pub struct Accounts {
    passwd: String,
    group: String,
}

impl Accounts {
    pub fn read() -> Result<Self, UserError> {
        let read = |file: &'static str| {
            match std::fs::read(Path::new("/etc").join(file)) {
                // A name may be in any encoding; those that are looked for are ASCII.
                Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
                Err(error) => Err(UserError::Unreadable { file, why: error.to_string() }),
            }
        };
        Ok(Self { passwd: read("passwd")?, group: read("group")? })
    }

    /// The user of this name, or of this number, which needs no entry: it has no groups then but `gid`.
    pub fn named(&self, text: &str, gid: Option<u32>) -> Result<User, UserError> {
        if let Ok(uid) = text.parse() {
            return Ok(self.numbered(uid, gid.unwrap_or(NO_GROUP)));
        }
        self.entry(|name, _| name == text).ok_or_else(|| UserError::Unknown(text.to_owned()))
    }

    /// The user of this number; without an entry its one group is `gid`, of a directory that it owns.
    #[must_use]
    pub fn numbered(&self, uid: u32, gid: u32) -> User {
        self.entry(|_, number| number == uid).unwrap_or_else(|| User { uid, gid, groups: vec![gid] })
    }

    /// Those of this machine as they were when they were first asked for.
    pub fn known() -> Option<&'static Self> {
        static KNOWN: std::sync::OnceLock<Option<Accounts>> = std::sync::OnceLock::new();
        KNOWN.get_or_init(|| Self::read().ok()).as_ref()
    }

    #[must_use]
    pub fn user_name(&self, uid: u32) -> Option<String> {
        Self::name(&self.passwd, uid)
    }

    #[must_use]
    pub fn group_name(&self, gid: u32) -> Option<String> {
        Self::name(&self.group, gid)
    }

    #[must_use]
    pub fn user_number(&self, name: &str) -> Option<u32> {
        Self::number(&self.passwd, name)
    }

    #[must_use]
    pub fn group_number(&self, name: &str) -> Option<u32> {
        Self::number(&self.group, name)
    }

    fn name(file: &str, wanted: u32) -> Option<String> {
        Self::lines(file).find(|(_, number)| *number == wanted).map(|(name, _)| name.to_owned())
    }

    fn number(file: &str, wanted: &str) -> Option<u32> {
        Self::lines(file).find(|(name, _)| *name == wanted).map(|(_, number)| number)
    }

    /// Name and number of each line: both files have them first and third.
    fn lines(file: &str) -> impl Iterator<Item = (&str, u32)> {
        file.lines().filter_map(|line| {
            let mut fields = line.split(':');
            Some((fields.next()?, fields.nth(1)?.parse().ok()?))
        })
    }

    fn entry(&self, is_it: impl Fn(&str, u32) -> bool) -> Option<User> {
        self.passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            is_it(name, uid).then(|| User { uid, gid, groups: self.groups(name, gid) })
        })
    }

    fn groups(&self, name: &str, gid: u32) -> Vec<u32> {
        let further = self.group.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let number: u32 = fields.nth(2)?.parse().ok()?;
            fields.next()?.split(',').any(|member| member == name).then_some(number)
        });
        let mut groups = vec![gid];
        groups.extend(further.filter(|number| *number != gid));
        groups
    }
}

impl User {
    /// Makes this process that user, for good: all three of its ids, and no capability is left unless it is root.
    pub fn assume(&self) -> Result<(), UserError> {
        let own = geteuid();
        if own.as_raw() == self.uid {
            return Ok(());
        }
        if !own.is_root() {
            return Err(UserError::NotRoot { wanted: self.uid.to_string(), own: own.as_raw() });
        }
        // The calls are of one thread, and threads inherit: later ones are that user, earlier ones would stay root.
        let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads > 1 {
            return Err(UserError::Late(threads));
        }
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let groups: Vec<Gid> = self.groups.iter().map(|number| Gid::from_raw(*number)).collect();
        set_thread_groups(&groups)
            .and_then(|()| set_thread_res_gid(gid, gid, gid))
            .and_then(|()| set_thread_res_uid(uid, uid, uid))
            .map_err(|error| UserError::Refused { uid: self.uid, why: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn accounts() -> Accounts {
        Accounts {
            passwd: "root:x:0:0:root:/root:/bin/sh\nbroken\nalice:x:1000:100::/home/alice:/bin/sh\n1000x:x:5:5::/:/bin/sh\n".to_owned(),
            group: "users:x:100:alice\nvideo:x:44:bob,alice\nalices:x:45:malice,alice2\nbad:x:nan:alice\n".to_owned(),
        }
    }

    #[test]
    fn a_user_has_its_primary_group_and_those_that_name_it() {
        let alice = User { uid: 1000, gid: 100, groups: vec![100, 44] };
        assert_eq!(accounts().named("alice", None).unwrap(), alice);
        assert_eq!(accounts().named("1000", Some(7)).unwrap(), alice);
        assert_eq!(accounts().numbered(1000, 7), alice);
    }

    #[test]
    fn a_number_without_an_entry_has_one_group() {
        assert_eq!(accounts().named("77", Some(7)).unwrap(), User { uid: 77, gid: 7, groups: vec![7] });
        assert_eq!(accounts().named("77", None).unwrap().groups, [NO_GROUP]);
    }

    #[test]
    fn a_user_and_a_group_have_a_name_for_their_number_and_a_number_for_their_name() {
        let known = accounts();
        assert_eq!((known.user_name(1000).as_deref(), known.user_number("alice")), (Some("alice"), Some(1000)));
        assert_eq!((known.group_name(44).as_deref(), known.group_number("video")), (Some("video"), Some(44)));
        for (name, number) in [("broken", 44), ("bob", 1)] {
            assert_eq!((known.user_name(number), known.user_number(name)), (None, None));
        }
        for (name, number) in [("bad", 1000), ("alice", 1)] {
            assert_eq!((known.group_name(number), known.group_number(name)), (None, None));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_would_be_right() {
        for name in ["bob", "malice", "", "-1", "99999999999"] {
            let error = accounts().named(name, None).unwrap_err().to_string();
            assert!(error.contains(&format!("runAs is {name:?}")) && error.contains("/etc/passwd"), "{error}");
        }
    }
}
