//! A look at what is in a bucket: from its listing as far as that tells, in the order in which it is asked.

use std::collections::VecDeque;
use std::io;

use cpt_ends::{Heard, Seen, Version, View};
use cpt_process::thread::map;
use cpt_wire::digest::Digest;
use cpt_wire::documents::attributes::Attributes;
use cpt_wire::documents::entry::Kind;

use super::entity::version;
use super::path::key;
use crate::client::Bucket;
use crate::fault::Meaning;
use crate::keys::{Listed, PAGE, before};
use crate::objects::Head;

/// Pages that are remembered: paths come in another order than keys wherever a name has a character that is less than a slash.
const WINDOWS: usize = 4;
/// Objects that are asked about at once.
const ASKED_AT_ONCE: usize = 32;
/// Bytes of an object that are read at once.
const READ_BYTES: u64 = 8 << 20;

/// What is between two keys.
struct Window {
    after: Option<String>,
    /// The last key that it tells of; none where it tells of all that follow.
    to: Option<String>,
    objects: Vec<(Listed, Option<Head>)>,
    /// So many objects are asked about with the next one: twice as many each time, since one alone may be asked for out of order.
    ahead: usize,
}

impl Window {
    fn tells_of(&self, key: &str) -> bool {
        self.after.as_deref().is_none_or(|after| after < key) && self.to.as_deref().is_none_or(|to| key <= to)
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.objects.binary_search_by(|(listed, _)| listed.key.as_str().cmp(key)).ok()
    }
}

/// Looks by one listing.
pub struct Sight<'a> {
    bucket: &'a Bucket,
    /// So many objects are asked about when one is, at most.
    ahead: usize,
    windows: VecDeque<Window>,
}

impl<'a> Sight<'a> {
    pub fn new(bucket: &'a Bucket, ahead: usize) -> Self {
        Self { bucket, ahead, windows: VecDeque::new() }
    }

    /// The window that tells of a key, and where in it the key is.
    fn window(&mut self, key: &str) -> io::Result<(&mut Window, Option<usize>)> {
        let known = self.windows.iter().position(|window| window.tells_of(key));
        if known.is_none() {
            let (prefix, after) = (&self.bucket.place().prefix, before(key));
            let page = self.bucket.wait(self.bucket.page(prefix, after.as_deref(), PAGE)).map_err(|fault| fault.into_error(key))?;
            let to = if page.is_last { None } else { page.objects.last().map(|last| last.key.clone()) };
            self.windows.truncate(WINDOWS - 1);
            let objects = page.objects.into_iter().map(|object| (object, None)).collect();
            self.windows.push_front(Window { after, to, objects, ahead: 1 });
        } else if let Some(window) = known.and_then(|at| self.windows.remove(at)) {
            self.windows.push_front(window);
        }
        let window = self.windows.front_mut().ok_or_else(|| io::Error::other("no window"))?;
        let found = window.find(key);
        Ok((window, found))
    }

    /// What is told of an object that is there.
    fn head(&mut self, key: &str) -> io::Result<Head> {
        let (bucket, ahead) = (self.bucket, self.ahead);
        let (window, found) = self.window(key)?;
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let at = found.ok_or_else(gone)?;
        if window.objects[at].1.is_none() {
            let to = window.objects.len().min(at + window.ahead);
            window.ahead = (2 * window.ahead).min(ahead);
            let keys: Vec<_> = window.objects[at..to].iter().map(|(listed, _)| listed.key.clone()).collect();
            let heads = map(ASKED_AT_ONCE, keys, |key| bucket.wait(bucket.head(&key)));
            for (object, head) in window.objects[at..to].iter_mut().zip(heads) {
                match head {
                    Ok(head) => object.1 = Some(head),
                    Err(fault) if fault.meaning == Meaning::Gone => {}
                    Err(fault) => return Err(fault.into_error(&object.0.key)),
                }
            }
        }
        window.objects[at].1.clone().ok_or_else(gone)
    }
}

impl View for Sight<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        let head = self.head(&key(self.bucket.place(), path)?)?;
        Ok(Seen {
            kind: Some(Kind::File),
            size: head.size,
            mode: head.kept.mode.unwrap_or(0),
            mtime_ns: head.kept.mtime_ns,
            version: version(&head.etag),
            target: None,
        })
    }

    fn is_still(&mut self, path: &[u8], is: &Version) -> io::Result<bool> {
        let key = key(self.bucket.place(), path)?;
        let (window, found) = self.window(&key)?;
        Ok(found.is_some_and(|at| version(&window.objects[at].0.etag) == *is))
    }

    fn attributes(&mut self, path: &[u8], listed: &Attributes) -> io::Result<Attributes> {
        let Some(owner) = &listed.owner else { return Ok(listed.clone()) };
        let kept = self.head(&key(self.bucket.place(), path)?)?.kept.owner;
        let is_same = kept == Some((owner.uid, owner.gid));
        Ok(Attributes { owner: listed.owner.clone().filter(|_| is_same), ..listed.clone() })
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        let key = key(self.bucket.place(), path)?;
        let failed = |fault: crate::fault::Fault| fault.into_error(&key);
        let head = self.bucket.wait(self.bucket.head(&key)).map_err(failed)?;
        if version(&head.etag) != *of {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is another object by now"));
        }
        let (mut hasher, mut at) = (blake3::Hasher::new(), 0);
        while at < head.size {
            let range = at..head.size.min(at + READ_BYTES);
            let bytes = self.bucket.wait(self.bucket.read(&key, &head.etag, &range)).map_err(failed)?;
            hasher.update(&bytes);
            heard(bytes.len() as u64);
            at = range.end;
        }
        Ok(*hasher.finalize().as_bytes())
    }
}
