//! What keeps a bucket from taking anything, as far as that is found out beforehand.

use std::collections::HashMap;

use cpt_ends::Room;
use cpt_wire::documents::attributes::Preserve;
use cpt_wire::documents::survey::Problem;

use super::PARTIAL;
use crate::client::Bucket;
use crate::fault::Fault;

/// Objects that are looked at to find one that is not a transfer's own: as many transfers as are ever under way at once have notes there.
const LOOKED_AT: i32 = 1000;

/// Lists the prefix, and begins an upload that it aborts: permissions, keys of encryption, storage class and tags are asked for.
pub fn room(bucket: &Bucket, preserve: Preserve) -> Room {
    match unkept(preserve).map_or_else(|| look(bucket).map_err(|fault| fault.to_string()), Err) {
        Ok(occupied) => Room { occupied, ..Room::default() },
        Err(why) => {
            let problem = Problem::of(bucket.to_string().as_bytes(), why);
            Room { bytes: Some(0), entries: Some(0), problem: Some(problem), ..Room::default() }
        }
    }
}

/// What is asked for and no bucket keeps.
fn unkept(preserve: Preserve) -> Option<String> {
    let asked = [
        (preserve.hard_links, "hardLinks"),
        (preserve.xattrs, "xattrs"),
        (preserve.acls, "acls"),
        (preserve.special_files, "specialFiles"),
    ];
    let names: Vec<&str> = asked.iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| format!("a bucket does not keep {}; leave it out of preserve", names.join(", ")))
}

/// Whether anything but notes of transfers is there.
fn look(bucket: &Bucket) -> Result<bool, Fault> {
    let prefix = &bucket.place().prefix;
    let page = bucket.wait(bucket.page(prefix, None, LOOKED_AT))?;
    let is_own = |key: &str| key.strip_prefix(prefix.as_str()).is_some_and(|path| path.starts_with(PARTIAL));
    let occupied = !page.is_last || page.objects.iter().any(|object| !is_own(&object.key));
    try_to_write(bucket)?;
    let notes = bucket.written().of_notes();
    if notes != *bucket.written() {
        // A bucket's policy may demand of every object what is asked for objects of the source alone.
        try_to_write(&bucket.writing(notes))?;
    }
    Ok(occupied)
}

/// Begins an upload as objects are written, and aborts it.
fn try_to_write(bucket: &Bucket) -> Result<(), Fault> {
    let upload = bucket.wait(bucket.begin_upload(bucket.place().key(&format!("{PARTIAL}survey")), HashMap::new()))?;
    bucket.wait(bucket.abort(&upload))
}
