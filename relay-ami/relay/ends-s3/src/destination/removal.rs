//! Objects that are removed.

use std::io;

use cpt_ends::{Found, Removal, Remover};
use cpt_process::thread::map;
use cpt_wire::documents::entry::Kind;
use cpt_wire::documents::extras::Stayed;

use super::path::key;
use super::resuming::refuse;
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::keys::{Listed, PAGE};

/// Objects that are removed at once.
const REMOVED_AT_ONCE: usize = 16;

/// Removes all objects whose keys begin so; `removed` is called after each.
pub fn remove_all(bucket: &Bucket, folder: &str, removed: &dyn Fn()) -> io::Result<()> {
    let failed = |fault| refuse(fault, folder);
    loop {
        let page = bucket.wait(bucket.page(folder, None, PAGE)).map_err(failed)?;
        let keys: Vec<_> = page.objects.into_iter().map(|object| object.key).collect();
        for gone in map(REMOVED_AT_ONCE, keys, |key| bucket.wait(bucket.delete(&key))) {
            gone.map_err(failed)?;
            removed();
        }
        if page.is_last {
            return Ok(());
        }
    }
}

pub struct BucketRemover(pub Bucket);

impl BucketRemover {
    fn listed(&self, prefix: &str, most: i32) -> io::Result<Vec<Listed>> {
        let page = self.0.wait(self.0.page(prefix, None, most)).map_err(|fault| refuse(fault, prefix))?;
        Ok(page.objects)
    }

    /// The object that has this key, if there is one.
    fn at(&self, key: &str) -> io::Result<Option<Listed>> {
        Ok(self.listed(key, 1)?.into_iter().find(|listed| listed.key == key))
    }

    /// Unless it is another object by now.
    fn delete(&self, listed: &Listed) -> io::Result<Removal> {
        match self.0.wait(self.0.delete_this(&listed.key, &listed.etag)) {
            Ok(()) => Ok(Removal::Removed),
            Err(Fault { meaning: Meaning::Gone, .. }) => Ok(Removal::Gone),
            // It may have been done by an attempt whose answer was lost: then nothing is there.
            Err(Fault { meaning: Meaning::Condition, .. }) => Ok(changed(self.at(&listed.key)?)),
            Err(fault) if matches!(fault.meaning, Meaning::Bucket | Meaning::Object) => {
                Ok(Removal::Stays(Stayed::Refused, Some(fault.to_string())))
            }
            Err(fault) => Err(refuse(fault, &listed.key)),
        }
    }
}

/// What was meant is not there; perhaps something else is.
fn changed(found: Option<Listed>) -> Removal {
    found.map_or(Removal::Gone, |_| Removal::Stays(Stayed::Changed, None))
}

impl Remover for BucketRemover {
    fn check_there(&self) -> io::Result<()> {
        self.listed(&self.0.place().prefix, 1).map(drop)
    }

    fn remove(&mut self, path: &[u8], is: &dyn Fn(&Found) -> bool) -> io::Result<Removal> {
        let key = key(self.0.place(), path)?;
        let found = self.at(&key)?;
        let file = |listed: &Listed| Found { kind: Kind::File, size: listed.size, mtime_ns: Some(listed.modified_ns) };
        if let Some(listed) = found.as_ref().filter(|listed| is(&file(listed))) {
            return self.delete(listed);
        }
        // What is below a name says nothing of the object that has it, and that says nothing of the directory.
        if !is(&Found { kind: Kind::Directory, size: 0, mtime_ns: None }) {
            return Ok(changed(found));
        }
        // A key with a slash at its end is all that there may be of a directory itself.
        let below = format!("{key}/");
        let held = self.listed(&below, 2)?;
        match held.as_slice() {
            [] => Ok(Removal::Gone),
            [only] if only.key == below => self.delete(only),
            _ => Ok(Removal::Stays(Stayed::NotEmpty, None)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
