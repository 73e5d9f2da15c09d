//! What HDFS keeps of an entry beside its mode and time: its owner by names, extended attributes, and access control lists.
//!
//! An access control list goes as text, as `hdfs dfs -setfacl` takes it, under the name that Linux has for such a list. Where an entry has
//! none, its lists are there and empty: what the destination has then goes.

use std::collections::BTreeMap;
use std::io;

use hdfs_native::Client;
use hdfs_native::acl::{AclEntry, AclEntryScope, AclEntryType, FsAction};
use hdfs_native::client::FileStatus;

use cpt_wire::documents::attributes::{ACLS, Attributes, Owner, Preserve};
use cpt_wire::documents::percent;

/// Which attributes are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub owner: bool,
    pub xattrs: bool,
    pub acls: bool,
}

impl Wanted {
    /// Those of a request.
    pub const fn of_request(preserve: &Preserve) -> Self {
        Self { owner: preserve.owners.is_some(), xattrs: preserve.xattrs, acls: preserve.acls }
    }

    /// Those that a listing speaks of.
    pub const fn of_listed(listed: &Attributes) -> Self {
        Self { owner: listed.owner.is_some(), xattrs: listed.xattrs.is_some(), acls: listed.acls.is_some() }
    }

    pub const fn is_any(self) -> bool {
        self.owner || self.xattrs || self.acls
    }
}

/// The attributes of an entry. Owners are names in HDFS; the numbers mean nothing.
pub async fn read(client: &Client, status: &FileStatus, wanted: Wanted) -> hdfs_native::Result<Attributes> {
    let named = || Owner { uid: 0, gid: 0, user: Some(status.owner.clone()), group: Some(status.group.clone()) };
    let owner = wanted.owner.then(named);
    let xattrs = if wanted.xattrs { Some(encoded(client.xattrs(&status.path).await?)) } else { None };
    let acls = match wanted.acls {
        false => None,
        true if !status.has_acl => Some(BTreeMap::new()),
        true => Some(lists(&client.get_acl_status(&status.path).await?.entries, status.permission)),
    };
    Ok(Attributes { owner, xattrs, acls, ..Attributes::default() })
}

fn encoded(found: Vec<(String, Vec<u8>)>) -> BTreeMap<String, String> {
    found.into_iter().map(|(name, value)| (percent::encode(name.as_bytes()), percent::encode(&value))).collect()
}

/// Whole lists. What HDFS tells of one lacks the owner's, the mask's and the others' entries, which are in the mode.
fn lists(entries: &[AclEntry], mode: u16) -> BTreeMap<String, String> {
    let [mut access, default] = [AclEntryScope::Access, AclEntryScope::Default]
        .map(|scope| entries.iter().filter(|entry| entry.scope == scope).map(text).collect::<Vec<_>>());
    if !access.is_empty() {
        access.extend([("user", 6), ("mask", 3), ("other", 0)].map(|(of, shift)| format!("{of}::{}", rights(mode >> shift))));
    }
    let named = ACLS.iter().zip([access, default]).filter(|(_, list)| !list.is_empty());
    let sorted = |mut list: Vec<String>| {
        list.sort();
        percent::encode(list.join(",").as_bytes())
    };
    named.map(|(name, list)| ((*name).to_owned(), sorted(list))).collect()
}

fn text(entry: &AclEntry) -> String {
    format!("{}:{}:{}", entry.r#type, entry.name.as_deref().unwrap_or_default(), entry.permissions)
}

fn rights(bits: u16) -> String {
    [(4, 'r'), (2, 'w'), (1, 'x')].iter().map(|(bit, letter)| if bits & bit == 0 { '-' } else { *letter }).collect()
}

/// The entries of a list, which a sender has written.
fn entries(list: &str, scope: &AclEntryScope) -> Result<Vec<AclEntry>, String> {
    list.split(',').map(|entry| parse(entry, scope).ok_or_else(|| format!("{entry}: is no entry of an access control list"))).collect()
}

fn parse(entry: &str, scope: &AclEntryScope) -> Option<AclEntry> {
    let (of, rest) = entry.split_once(':')?;
    let (name, permissions) = rest.rsplit_once(':')?;
    let of = match of {
        "user" => AclEntryType::User,
        "group" => AclEntryType::Group,
        "mask" => AclEntryType::Mask,
        "other" => AclEntryType::Other,
        _ => return None,
    };
    let permissions = match permissions {
        "---" => FsAction::None,
        "--x" => FsAction::Execute,
        "-w-" => FsAction::Write,
        "-wx" => FsAction::WriteExecute,
        "r--" => FsAction::Read,
        "r-x" => FsAction::ReadExecute,
        "rw-" => FsAction::ReadWrite,
        "rwx" => FsAction::PermAll,
        _ => return None,
    };
    let name = (!name.is_empty()).then(|| name.to_owned());
    Some(AclEntry { r#type: of, scope: scope.clone(), permissions, name })
}

/// What an entry is to get, read from what a sender has sent.
#[derive(Clone, Debug, Default)]
pub struct Given {
    owner: Option<(String, String)>,
    /// By name, with what the destination has to have.
    xattrs: Option<BTreeMap<String, Vec<u8>>>,
    /// Of each kind of list, none where the entry has none.
    acls: Option<[Vec<AclEntry>; 2]>,
}

impl Given {
    /// Fails, in words, where it is nothing that HDFS has.
    pub fn parse(attributes: &[u8]) -> io::Result<Self> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let Attributes { owner, xattrs, acls, .. } = Attributes::parse(attributes).map_err(refused)?;
        let named = |owner: Owner| owner.user.zip(owner.group).ok_or_else(|| refused("owners of HDFS have names".to_owned()));
        let decode = |text: &str| percent::decode(text).map_err(refused);
        let xattr = |(name, value): (&String, &String)| {
            let name = String::from_utf8(decode(name)?).map_err(|_| refused(format!("xattrs: {name}: is not UTF-8")))?;
            Ok::<_, io::Error>((name, decode(value)?))
        };
        let list = |name: &str, scope: AclEntryScope, lists: &BTreeMap<String, String>| match lists.get(name) {
            None => Ok(Vec::new()),
            Some(list) => entries(&String::from_utf8_lossy(&decode(list)?), &scope).map_err(refused),
        };
        let both = |lists: BTreeMap<String, String>| {
            Ok::<_, io::Error>([list(ACLS[0], AclEntryScope::Access, &lists)?, list(ACLS[1], AclEntryScope::Default, &lists)?])
        };
        Ok(Self {
            owner: owner.map(named).transpose()?,
            xattrs: xattrs.map(|listed| listed.iter().map(xattr).collect()).transpose()?,
            acls: acls.map(both).transpose()?,
        })
    }

    /// Extended attributes, which only whoever may write an entry may set: before its mode says what that is.
    pub async fn put_on_before_mode(&self, client: &Client, path: &str) -> hdfs_native::Result<()> {
        let Some(listed) = &self.xattrs else { return Ok(()) };
        let there: BTreeMap<_, _> = client.xattrs(path).await?.into_iter().collect();
        for name in there.keys().filter(|name| !listed.contains_key(*name)) {
            client.remove_xattr(path, name).await?;
        }
        for (name, value) in listed.iter().filter(|(name, value)| there.get(*name) != Some(*value)) {
            client.set_xattr(path, name, value.clone()).await?;
        }
        Ok(())
    }

    /// Lists, whose mask is in the mode, and the owner: after that nobody but a superuser may change what belongs to another one.
    pub async fn put_on_after_mode(&self, client: &Client, path: &str) -> hdfs_native::Result<()> {
        if let Some(lists) = &self.acls {
            // A list of one kind that is set leaves one of the other kind that is there.
            if lists.iter().any(Vec::is_empty) && client.get_file_info(path).await?.has_acl {
                client.remove_acl(path).await?;
            }
            if lists.iter().any(|list| !list.is_empty()) {
                client.set_acl(path, lists.concat()).await?;
            }
        }
        match &self.owner {
            Some((user, group)) => client.set_owner(path, Some(user), Some(group)).await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_whole_and_comes_back_as_it_went() {
        let entry = |of, scope, permissions, name: Option<&str>| AclEntry { r#type: of, scope, permissions, name: name.map(str::to_owned) };
        let told = [
            entry(AclEntryType::User, AclEntryScope::Access, FsAction::ReadWrite, Some("bob")),
            entry(AclEntryType::Group, AclEntryScope::Access, FsAction::Read, None),
            entry(AclEntryType::Group, AclEntryScope::Default, FsAction::PermAll, Some("a:b")),
        ];
        let lists = lists(&told, 0o765);
        let decoded = |name| String::from_utf8(percent::decode(&lists[name]).unwrap()).unwrap();
        assert_eq!(decoded(ACLS[0]), "group::r--,mask::rw-,other::r-x,user::rwx,user:bob:rw-");
        assert_eq!(decoded(ACLS[1]), "group:a:b:rwx");
        assert_eq!(entries(&decoded(ACLS[1]), &AclEntryScope::Default).unwrap(), told[2..]);
        assert_eq!(super::lists(&[], 0o765), BTreeMap::new());
    }

    #[test]
    fn what_is_no_attribute_of_hdfs_is_refused() {
        for wrong in [
            r#"{"owner":{"uid":0,"gid":0}}"#,
            r#"{"acls":{"system.posix_acl_access":"nobody"}}"#,
            r#"{"acls":{"system.posix_acl_access":"user::rwz"}}"#,
            r#"{"acls":{"system.posix_acl_access":""}}"#,
            "{",
        ] {
            assert_eq!(Given::parse(wrong.as_bytes()).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong}");
        }
        assert!(Given::parse(b"").unwrap().acls.is_none());
    }
}
