//! What an entry carries beyond bytes, mode and time: owners, extended attributes, ACLs, and what a special file is.
//!
//! Everything goes by the directory's descriptor and one name, never through a link: extended attributes, for which Linux has no
//! such call, by the descriptor's name in `/proc`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{self, AtFlags, FileType, Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::user::Accounts;
use cpt_ends::{KEPT_MODE, OWNERS_MODE};
use cpt_wire::documents::attributes::{ACLS, Attributes, Node, Owner, Owners, Preserve};
use cpt_wire::documents::percent;

/// The extended attributes that are kept: what users and programs set, and the capabilities of programs. All others are the machine's own
/// affair, as labels of its security modules and signatures by its keys are, or need rights that no daemon has, as Samba's do.
const KEPT: (&[u8], &[u8]) = (b"user.", b"security.capability");
/// What a machine sets by itself.
const LABELS: [&[u8]; 4] = [b"security.selinux", b"security.ima", b"security.evm", b"security.apparmor"];
/// What a directory gives to what is made in it.
const DEFAULT_ACL: &str = "system.posix_acl_default";
/// Linux' limits of a list of names and of a value (linux/limits.h).
const XATTR_BYTES: usize = 64 << 10;
/// Encoded bytes of an entry's attributes: a frame says their length in two bytes.
pub const MOST_BYTES: usize = 48 << 10;

/// Reads what `preserve` asks for of an entry, to which `stat` belongs.
pub fn read(
    directory: &impl AsFd,
    name: &OsStr,
    stat: &Stat,
    preserve: &Preserve,
    accounts: Option<&Accounts>,
) -> io::Result<Option<Box<Attributes>>> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_file = kind == FileType::RegularFile;
    let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    let found = Attributes {
        owner: preserve.owners.map(|_| owner(stat, accounts)),
        xattrs: if preserve.xattrs { Some(xattrs(directory, name, is_plain)?) } else { None },
        acls: if preserve.acls && kind != FileType::Symlink { Some(xattrs(directory, name, is_acl)?) } else { None },
        sparse: preserve.sparse && is_file && blocks < u64::try_from(stat.st_size).unwrap_or(0),
        linked: preserve.hard_links && is_file && stat.st_nlink > 1,
        node: if preserve.special_files { node(stat) } else { None },
    };
    if found == Attributes::default() {
        return Ok(None);
    }
    let bytes = found.encode().len();
    if bytes > MOST_BYTES {
        return Err(io::Error::other(format!("its extended attributes are {bytes} bytes as they are sent; {MOST_BYTES} are the most")));
    }
    Ok(Some(Box::new(found)))
}

/// Extended attributes of an entry that would be thought kept, by what `preserve` asks for, and are not: those that other programs set with
/// rights that no daemon has, and access control lists of other kinds than POSIX'. Labels that the machine gives each file are none.
pub fn unkept(directory: &impl AsFd, name: &OsStr, preserve: &Preserve) -> io::Result<Vec<Vec<u8>>> {
    if !(preserve.xattrs || preserve.acls) {
        return Ok(Vec::new());
    }
    let mut found = names(&by_proc(directory, name))?;
    found.retain(|name| {
        let is_asked = if name.starts_with(b"system.") { preserve.acls } else { preserve.xattrs };
        is_asked && !is_plain(name) && !is_acl(name) && !LABELS.contains(&&**name)
    });
    Ok(found)
}

/// What `listed` speaks of, as it is here.
pub fn like(directory: &impl AsFd, name: &OsStr, stat: &Stat, listed: &Attributes) -> io::Result<Attributes> {
    let owner = listed.owner.as_ref().map(|wanted| {
        let (uid, gid) = mapped(wanted);
        // As it was sent where it is the one that this would give.
        if (stat.st_uid, stat.st_gid) == (uid, gid) { wanted.clone() } else { owner(stat, None) }
    });
    Ok(Attributes {
        owner,
        xattrs: if listed.xattrs.is_some() { Some(xattrs(directory, name, is_plain)?) } else { None },
        acls: if listed.acls.is_some() { Some(xattrs(directory, name, is_acl)?) } else { None },
        sparse: listed.sparse,
        linked: listed.linked,
        node: if listed.node.is_some() { node(stat) } else { None },
    })
}

/// Gives an entry its attributes, and its mode, which a change of owner or of an ACL may have changed; a link has none, and where the file
/// system keeps none it is given none.
pub fn apply(directory: &impl AsFd, name: &OsStr, kind: FileType, attributes: &Attributes, mode: Option<u16>) -> io::Result<()> {
    if let Some(owner) = &attributes.owner {
        let (uid, gid) = mapped(owner);
        let (user, group) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        fs::chownat(directory, name, user, group, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| match error {
            // It is that of the new owner, not of all that is written here.
            Errno::DQUOT => io::Error::new(io::ErrorKind::InvalidInput, format!("the quota of its owner, user {uid}, is used up")),
            other => refused(&other, "its owner"),
        })?;
    }
    for (listed, is_it) in [(&attributes.xattrs, is_plain as fn(&[u8]) -> bool), (&attributes.acls, is_acl)] {
        if let Some(listed) = listed {
            set(directory, name, listed, is_it)?;
        }
    }
    if let Some(mode) = mode.filter(|_| kind != FileType::Symlink) {
        let mut mode = Mode::from_raw_mode(u32::from(mode) & kept_mode(attributes));
        // Whose owners do not arrive keeps the bit that hands its group on, which a directory of a team has.
        if kind == FileType::Directory && attributes.owner.is_none() {
            mode |= Mode::from_raw_mode(fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) & Mode::SGID;
        }
        // Neither a link nor anybody else's: a new entry among the partial files, or the directory itself.
        fs::chmodat(directory, name, mode, AtFlags::empty())?;
    }
    Ok(())
}

/// The bits of a mode that arrive.
pub const fn kept_mode(attributes: &Attributes) -> u32 {
    if attributes.owner.is_some() { OWNERS_MODE } else { KEPT_MODE }
}

/// Makes a special file.
pub fn make(directory: &impl AsFd, name: &str, node: Node) -> io::Result<()> {
    let (kind, device) = match node {
        Node::Fifo => (FileType::Fifo, 0),
        Node::Socket => (FileType::Socket, 0),
        Node::Character { major, minor } => (FileType::CharacterDevice, fs::makedev(major, minor)),
        Node::Block { major, minor } => (FileType::BlockDevice, fs::makedev(major, minor)),
    };
    fs::mknodat(directory, name, kind, Mode::RUSR | Mode::WUSR, device).map_err(|error| match error {
        Errno::PERM => refused(&error, "a device, which only root makes"),
        other => other.into(),
    })
}

pub fn node(stat: &Stat) -> Option<Node> {
    let (major, minor) = (fs::major(stat.st_rdev), fs::minor(stat.st_rdev));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Some(Node::Fifo),
        FileType::Socket => Some(Node::Socket),
        FileType::CharacterDevice => Some(Node::Character { major, minor }),
        FileType::BlockDevice => Some(Node::Block { major, minor }),
        _ => None,
    }
}

/// The accounts whose names are sent with numbers.
pub fn accounts(preserve: &Preserve) -> Option<Accounts> {
    Accounts::read().ok().filter(|_| preserve.owners == Some(Owners::Names))
}

fn owner(stat: &Stat, accounts: Option<&Accounts>) -> Owner {
    let (uid, gid) = (stat.st_uid, stat.st_gid);
    Owner { uid, gid, user: accounts.and_then(|known| known.user_name(uid)), group: accounts.and_then(|known| known.group_name(gid)) }
}

/// The numbers that an owner has on this machine: those of its names, where it has such names.
fn mapped(owner: &Owner) -> (u32, u32) {
    let (Owner { uid, gid, user, group }, known) = (owner, Accounts::known());
    (
        user.as_deref().and_then(|name| known?.user_number(name)).unwrap_or(*uid),
        group.as_deref().and_then(|name| known?.group_number(name)).unwrap_or(*gid),
    )
}

fn is_plain(name: &[u8]) -> bool {
    name.starts_with(KEPT.0) || name == KEPT.1
}

fn is_acl(name: &[u8]) -> bool {
    ACLS.iter().any(|acl| acl.as_bytes() == name)
}

fn by_proc(directory: &impl AsFd, name: &OsStr) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd())).join(name)
}

/// Names and values of an entry's extended attributes, percent-encoded; none where the file system has none.
fn xattrs(directory: &impl AsFd, name: &OsStr, is_it: fn(&[u8]) -> bool) -> io::Result<BTreeMap<String, String>> {
    let path = by_proc(directory, name);
    let mut found = BTreeMap::new();
    for name in names(&path)?.into_iter().filter(|name| is_it(name)) {
        let mut value = Vec::with_capacity(XATTR_BYTES);
        match fs::lgetxattr(&path, OsStr::from_bytes(&name), rustix::buffer::spare_capacity(&mut value)) {
            Ok(_) => drop(found.insert(percent::encode(&name), percent::encode(&value))),
            // Removed meanwhile.
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

fn names(path: &PathBuf) -> io::Result<Vec<Vec<u8>>> {
    let split = |list: &[u8]| list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    // Most entries have none or few, and cost one call and no memory.
    let mut few = [0; 512];
    match fs::llistxattr(path, &mut few[..]) {
        Ok(length) => return Ok(split(few.get(..length).unwrap_or_default())),
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(Errno::RANGE) => {}
        Err(error) => return Err(error.into()),
    }
    let mut list = Vec::with_capacity(XATTR_BYTES);
    fs::llistxattr(path, rustix::buffer::spare_capacity(&mut list))?;
    Ok(split(&list))
}

/// Makes an entry's attributes those that are listed: what it has from its directory besides is removed.
fn set(directory: &impl AsFd, name: &OsStr, listed: &BTreeMap<String, String>, is_it: fn(&[u8]) -> bool) -> io::Result<()> {
    let path = by_proc(directory, name);
    let has = xattrs(directory, name, is_it)?;
    for extra in has.keys().filter(|name| !listed.contains_key(*name)) {
        let extra = percent::decode(extra).map_err(io::Error::other)?;
        fs::lremovexattr(&path, OsStr::from_bytes(&extra)).map_err(|error| refused(&error, &String::from_utf8_lossy(&extra)))?;
    }
    for (name, value) in listed.iter().filter(|(name, value)| has.get(*name) != Some(value)) {
        let decoded = percent::decode(name).map_err(io::Error::other)?;
        let value = percent::decode(value).map_err(io::Error::other)?;
        fs::lsetxattr(&path, OsStr::from_bytes(&decoded), &value, XattrFlags::empty()).map_err(|error| match error {
            // ext4 says so of an entry whose attributes have no more room, however empty the disk is.
            Errno::NOSPC if has_room(directory) => refused(&Errno::TOOBIG, name),
            other => refused(&other, name),
        })?;
    }
    Ok(())
}

/// Returns whether what is made in a directory gets an access control list from it.
pub fn has_default_acl(directory: &impl AsFd) -> bool {
    let path = by_proc(directory, OsStr::new("."));
    // With 64 entries, a list is as long as this; a longer one is one too.
    matches!(fs::getxattr(&path, DEFAULT_ACL, &mut [0; 516][..]), Ok(1..) | Err(Errno::RANGE))
}

/// Returns whether a disk has room for any attribute.
fn has_room(directory: &impl AsFd) -> bool {
    fs::fstatvfs(directory).is_ok_and(|found| found.f_blocks == 0 || found.f_bavail.saturating_mul(found.f_frsize) > 2 * XATTR_BYTES as u64)
}

/// The error of a new name in a directory. Some file systems say of a directory that takes no more of them what they say of a full disk; or
/// the disk was full and has room by now, so that the chunk is worth another attempt.
pub fn no_name(directory: &impl AsFd, error: Errno) -> io::Error {
    if error == Errno::NOSPC && has_room(directory) {
        return io::Error::other(format!("{error}, though the disk has room: its directory takes no more names"));
    }
    error.into()
}

/// The entry's own problem, in words, where the file system or the daemon's rights do not allow `what`.
fn refused(error: &Errno, what: &str) -> io::Error {
    match *error {
        Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::INVAL | Errno::RANGE | Errno::TOOBIG | Errno::OVERFLOW => {
            io::Error::new(io::ErrorKind::InvalidInput, format!("the destination does not take {what}: {error}"))
        }
        other => other.into(),
    }
}
