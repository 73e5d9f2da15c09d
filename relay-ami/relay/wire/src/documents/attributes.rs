//! What an entry carries besides bytes, mode and time, as far as a request asks for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::Kind;
use super::percent;

/// What a request's `preserve` asks for beyond the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Preserve {
    pub hard_links: bool,
    pub sparse: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners: Option<Owners>,
    pub xattrs: bool,
    pub acls: bool,
    pub special_files: bool,
}

impl Preserve {
    /// Refuses, by name, what an entry has and nobody asked for.
    pub fn check(&self, kind: Kind, attributes: &Attributes) -> Result<(), &'static str> {
        let has = [
            (self.hard_links, kind == Kind::Hardlink || attributes.linked, "a hard link"),
            (self.special_files, kind == Kind::Special || attributes.node.is_some(), "a special file"),
            (self.owners.is_some(), attributes.owner.is_some(), "an owner"),
            (self.xattrs, attributes.xattrs.is_some(), "extended attributes"),
            (self.acls, attributes.acls.is_some(), "access control lists"),
            (self.sparse, attributes.sparse, "holes"),
        ];
        has.iter().find(|(is_asked_for, is_there, _)| *is_there && !is_asked_for).map_or(Ok(()), |(_, _, what)| Err(what))
    }
}

/// The way in which owners are found at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owners {
    /// By number.
    Numeric,
    /// By name where the destination's machine has it, else by number.
    Names,
}

/// Attributes of one entry; an absent one is not kept, and not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attributes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// All that the entry has, names and values percent-encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xattrs: Option<BTreeMap<String, String>>,
    /// The same of POSIX ACLs, which Linux gives as extended attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acls: Option<BTreeMap<String, String>>,
    /// The file has holes, which cost no blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sparse: bool,
    /// The file has other names, which follow: where it is sent again they are too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub linked: bool,
    /// The kind of a special file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
}

/// User and group, by number, and by name where names count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A special file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Node {
    Fifo,
    Socket,
    Character { major: u32, minor: u32 },
    Block { major: u32, minor: u32 },
}

impl Attributes {
    /// Reads what a frame carries; empty bytes are no attributes.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let read: Self = serde_json::from_slice(bytes).map_err(|error| format!("attributes: {error}"))?;
        read.check()?;
        Ok(read)
    }

    /// Returns the bytes that a frame carries.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if *self == Self::default() { Vec::new() } else { serde_json::to_vec(self).unwrap_or_default() }
    }

    /// Refuses, in words, names and values that are not percent-encoded, and names of another namespace than their list's.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in self.xattrs.iter().flatten() {
            if percent::decode(name).map_err(|why| format!("xattrs: {why}"))?.starts_with(b"system.") {
                return Err(format!("xattrs: {name} is the system's"));
            }
            percent::decode(value).map_err(|why| format!("xattrs: {why}"))?;
        }
        for (name, value) in self.acls.iter().flatten() {
            if !ACLS.contains(&name.as_str()) {
                return Err(format!("acls: {name} is no access control list"));
            }
            percent::decode(value).map_err(|why| format!("acls: {why}"))?;
        }
        Ok(())
    }
}

/// The attributes that are POSIX ACLs; their names need no escapes.
pub const ACLS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];
