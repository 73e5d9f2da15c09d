//! Whether what is at the destination is what was listed.

use std::io;

use crate::documents::attributes::Attributes;
use crate::documents::entry::{Kind, ListedLine};
use crate::documents::percent;
use crate::ends::{Capabilities, KEPT_MODE, Placed, Seen, View};

/// Fails where what is there is of another kind, size, mode, time or target than what was listed; in words. Of a file that was
/// compared by its content the time does not count, unless it has further names: these are made of the file with the listed time.
pub fn differs(
    listed: &ListedLine<'_>,
    path: &[u8],
    seen: &Seen,
    by_content: bool,
    view: &mut dyn View,
    can: Capabilities,
) -> Result<(), String> {
    if listed.kind == Kind::Hardlink {
        return if is_linked(view, seen, listed.target.as_deref()) { Ok(()) } else { Err("is no name of the same file".to_owned()) };
    }
    if seen.kind != Some(listed.kind) {
        return Err("is of another kind".to_owned());
    }
    // A link has no mode of its own.
    if listed.kind != Kind::Symlink && !can.same_mode(seen.mode, listed.mode, has_owner(listed.attributes.as_deref())) {
        return Err(format!("has mode {:o} and should have {:o}", seen.mode & KEPT_MODE, listed.mode & KEPT_MODE));
    }
    // A directory's time changes with whatever somebody puts into it.
    let is_linked = listed.attributes.as_deref().is_some_and(|attributes| attributes.linked);
    let same_time = by_content && !is_linked || can.time_step_ns.is_none() || can.same_time(seen.mtime_ns, listed.mtime_ns);
    if listed.kind == Kind::File && (seen.size != listed.size || !same_time) {
        return Err("has another size or modification time".to_owned());
    }
    let target = seen.target.as_deref().map(percent::encode);
    if listed.kind == Kind::Symlink && listed.target.as_deref() != target.as_deref() {
        return Err("points elsewhere".to_owned());
    }
    if !has_attributes(view, path, listed.attributes.as_deref()).map_err(|error| error.to_string())? {
        return Err("has another owner, other extended attributes or another access control list".to_owned());
    }
    Ok(())
}

/// Returns whether a link or a special file is another one than was placed, with another time. Of the one that was placed the time does
/// not count: not every file system keeps that of a link.
pub fn has_lost_its_time(listed: &ListedLine<'_>, placed: &Placed, seen: &Seen, can: Capabilities) -> bool {
    matches!(listed.kind, Kind::Symlink | Kind::Special)
        && placed.version.is_some_and(|version| version != seen.version)
        && can.time_step_ns.is_some()
        && !can.same_time(seen.mtime_ns, listed.mtime_ns)
}

/// Returns whether a mode counts with the bits that go with an owner.
pub fn has_owner(attributes: Option<&Attributes>) -> bool {
    attributes.is_some_and(|attributes| attributes.owner.is_some())
}

/// Returns whether what is there has the attributes that are listed.
pub fn has_attributes(view: &mut dyn View, path: &[u8], listed: Option<&Attributes>) -> io::Result<bool> {
    listed.map_or(Ok(true), |listed| Ok(view.attributes(path, listed)? == *listed))
}

/// Returns whether what is there is the file that has `first` as its name.
pub fn is_linked(view: &mut dyn View, seen: &Seen, first: Option<&str>) -> bool {
    let first = first.and_then(|first| percent::decode(first).ok()).and_then(|first| view.see(&first).ok());
    seen.kind == Some(Kind::File) && first.is_some_and(|first| first.kind == Some(Kind::File) && first.version == seen.version)
}
