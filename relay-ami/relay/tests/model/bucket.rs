//! A bucket in which a sequence's transfers arrive: the real end, over a service in this process that speaks HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cpt_control_aws::clients::http_client;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::destination::BucketDestination;
use cpt_relay::ends::Capabilities;

use crate::interfere::{Op, Spoil, TOUCHED, added};
use crate::s3_faults::Fault;
use crate::s3_service::{Object, Service, State};
use crate::seen::{Kind, PARTIAL, SECOND, Seen, Tree, above, digest};
use crate::trees::noise;

const NAME: &str = "there";
const REGION: &str = "eu-west-1";
const SECRET: &str = "secret";
/// Bytes of the longest key.
const LONGEST_KEY: usize = 1024;
/// Of an object of somebody else, which tells no time: it is as new as anything.
const NO_TIME: i64 = i64::MAX;
const NO_OWNER: (u32, u32) = (u32::MAX, u32::MAX);

/// What the documents promise of any bucket.
pub const CAPABILITIES: Capabilities = Capabilities {
    parts: true,
    directories: false,
    modes: true,
    time_step_ns: Some(1),
    links: false,
    hard_links: false,
    special_files: false,
    attributes: false,
    holes: false,
};

pub struct BucketPlace {
    service: Service,
    prefix: String,
    /// Receivers so far: each has an access key of its own.
    receivers: AtomicU64,
}

type Metadata = BTreeMap<String, String>;

/// What AWS DataSync notes of a file.
fn metadata(seen: &Seen) -> Metadata {
    let (uid, gid) = seen.owner;
    let kept = [
        ("file-permissions", format!("{:04o}", seen.mode)),
        ("file-mtime", format!("{}ns", seen.mtime_ns)),
        ("file-owner", uid.to_string()),
        ("file-group", gid.to_string()),
    ];
    kept.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An object, by what is noted of it; a key with a slash at its end stands for a directory.
fn seen(path: &str, object: &Object) -> Seen {
    let field = |name: &str| object.metadata.get(name).map(String::as_str);
    let number = |name: &str| field(name).and_then(|text| text.parse().ok());
    Seen {
        kind: if path.ends_with('/') { Kind::Directory } else { Kind::File },
        size: object.bytes.len() as u64,
        mode: field("file-permissions").map_or(0, |text| u32::from_str_radix(text, 8).unwrap()),
        mtime_ns: field("file-mtime").map_or(NO_TIME, |text| text.trim_end_matches("ns").parse().unwrap()),
        ctime_ns: object.written * SECOND,
        inode: object.written.unsigned_abs(),
        digest: digest(&object.bytes),
        owner: number("file-owner").zip(number("file-group")).unwrap_or(NO_OWNER),
        xattrs: Default::default(),
        acls: Default::default(),
    }
}

impl BucketPlace {
    /// One of four has so long a prefix that not every path makes a key with it. Every other one has objects that no directory could have
    /// beside each other, under names that sources have.
    pub fn new(number: u64) -> Self {
        let prefix = if number.is_multiple_of(4) { format!("{}/", "a/long prefix".repeat(69)) } else { "some/where/".to_owned() };
        let place = Self { service: Service::start(), prefix, receivers: AtomicU64::new(0) };
        for path in ["plain", "plain/below", ".hidden", ".hidden/"].iter().filter(|_| number % 2 == 1) {
            place.service.state().write(&format!("{}{path}", place.prefix), path.as_bytes().to_vec(), Metadata::new());
        }
        place
    }

    /// A client of its own, as each process has one: what it has under way ends with it.
    pub fn destination(&self) -> BucketDestination {
        let place = Place { bucket: NAME.to_owned(), prefix: self.prefix.clone(), region: REGION.to_owned(), owner: None };
        let (endpoint, http) = (Some(self.service.endpoint.clone()), http_client().unwrap());
        BucketDestination::new(
            Bucket::new(place, Setup { endpoint, http, credentials: Setup::keys(&self.key_id(), SECRET, None) }).unwrap(),
        )
    }

    /// The id of the access key that whoever is started now has.
    fn key_id(&self) -> String {
        format!("id-{}", self.receivers.load(Ordering::SeqCst))
    }

    /// How a program is told of it.
    pub fn address(&self) -> String {
        format!("s3://{NAME}/{}", self.prefix)
    }

    pub fn variables(&self) -> [(&'static str, String); 4] {
        let (id, secret) = (self.key_id(), SECRET.to_owned());
        let endpoint = self.service.endpoint.clone();
        [("AWS_ENDPOINT_URL_S3", endpoint), ("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", secret), ("AWS_REGION", REGION.to_owned())]
    }

    /// Whether no key can be made of a path.
    pub fn refuses(&self, path: &[u8]) -> bool {
        std::str::from_utf8(path).is_err() || self.prefix.len() + path.len() > LONGEST_KEY
    }

    fn key(&self, path: &[u8]) -> Option<String> {
        let path = std::str::from_utf8(path).ok().filter(|_| !self.refuses(path))?;
        Some(format!("{}{path}", self.prefix))
    }

    /// Objects below the prefix, by what follows of their keys, but for those of transfers.
    pub fn list(&self) -> Tree {
        let state = self.service.state();
        let paths = state.objects.iter().filter_map(|(key, object)| Some((key.strip_prefix(&self.prefix)?, object)));
        let visible = paths.filter(|(path, _)| !path.as_bytes().starts_with(PARTIAL));
        visible.map(|(path, object)| (path.as_bytes().to_vec(), seen(path, object))).collect()
    }

    /// As a mirror sees it: with the directories that keys tell of, each with a slash at its end, and the times of writing.
    pub fn as_tree(&self) -> Tree {
        let objects = self.list();
        let directory = |path: &[u8]| ([path, b"/"].concat(), Seen { kind: Kind::Directory, ..self.nothing() });
        let mut tree: Tree = objects.keys().flat_map(|path| above(path).map(directory)).collect();
        tree.extend(objects.into_iter().map(|(path, found)| (path, Seen { mtime_ns: found.ctime_ns, ..found })));
        tree
    }

    pub fn has_an_object_above_others(&self) -> bool {
        let tree = self.as_tree();
        tree.keys().any(|path| path.strip_suffix(b"/").is_some_and(|path| tree.contains_key(path)))
    }

    fn nothing(&self) -> Seen {
        seen("", &Object::default())
    }

    /// What of a transfer's is not in its place.
    pub fn leftovers(&self) -> Vec<String> {
        let (state, by) = (self.service.state(), self.key_id());
        let uploads = state.known_uploads(&by).map(|(key, parts)| format!("upload of {key} with {parts} parts"));
        let notes = state.objects.keys().filter(|key| self.is_note(key)).map(|key| format!("note {key}"));
        uploads.chain(notes).collect()
    }

    fn is_note(&self, key: &str) -> bool {
        key.strip_prefix(&self.prefix).is_some_and(|path| path.as_bytes().starts_with(PARTIAL))
    }

    /// Another one comes. The one before it may have begun uploads without living to note it. Its threads may outlive it in this process:
    /// they can call nobody any more.
    pub fn next_receiver(&self) {
        self.receivers.fetch_add(1, Ordering::SeqCst);
        self.service.state().only = self.key_id();
    }

    /// So many calls are to meet this.
    pub fn meet(&self, operation: &'static str, times: u64, fault: Fault) {
        self.service.state().faults.meet(operation, times, fault);
    }

    /// Whether any of that has come to pass.
    pub fn is_well_again(&self) -> bool {
        self.service.state().faults.clear()
    }

    /// How often it was called so since this was asked last.
    pub fn take_calls(&self, operation: &str) -> usize {
        self.service.state().calls.remove(operation).unwrap_or_default()
    }

    pub fn remove(&self, path: &[u8]) {
        if let Some(key) = self.key(path) {
            remove(&mut self.service.state(), &key);
        }
    }

    /// As AWS DataSync makes a copy; what is no file leaves nothing.
    pub fn put_copy(&self, source: &Path, was: &Seen, path: &[u8]) {
        if let Some(key) = self.key(path).filter(|_| was.kind == Kind::File) {
            self.service.state().write(&key, fs::read(source).unwrap_or_default(), metadata(was));
        }
    }

    /// What somebody else does, with the tools that there are for buckets. Directories are what keys begin with.
    pub fn change(&self, op: Op, serial: u64) {
        let (files, tree) = (self.list(), self.as_tree());
        let picked =
            |op: Op| op.picked(&files).or_else(|| op.picked(&tree)).and_then(|path| self.key(path.strip_suffix(b"/").unwrap_or(path)));
        let new = format!("{}{}", self.prefix, added(serial));
        let other = match op {
            Op::HardLinkOver(_, other) | Op::Swap(_, other) => picked(Op::Touch(other)),
            _ => None,
        };
        let picked = picked(op);
        let mut state = self.service.state();
        match picked {
            Some(key) => change(&mut state, op, serial, &key, other, &new),
            None => self.change_all(&mut state, op, serial, &new),
        }
    }

    fn change_all(&self, state: &mut State, op: Op, serial: u64, new: &str) {
        let notes: Vec<String> = state.objects.keys().filter(|key| self.is_note(key)).cloned().collect();
        match op {
            Op::Wipe => state.objects.clear(),
            Op::WipeVisible => state.objects.retain(|key, _| key.starts_with(&format!("{}.", self.prefix))),
            Op::PartialDirectory => state.objects.retain(|key, _| !self.is_note(key)),
            Op::Partial(_, Spoil::HardLink) => return state.abort_all(),
            Op::Partial(which, spoil) if !notes.is_empty() => {
                let key = &notes[which % notes.len()];
                let bytes = state.objects[key].bytes.clone();
                match spoil {
                    Spoil::Truncate => state.write(key, bytes[..bytes.len() / 2].to_vec(), Metadata::new()),
                    Spoil::Replace => state.write(key, noise(serial, bytes.len()), Metadata::new()),
                    _ => drop(state.objects.remove(key)),
                }
            }
            Op::Add(_) => return state.write(new, b"new".to_vec(), Metadata::new()),
            _ => return,
        }
        if matches!(op, Op::Wipe | Op::PartialDirectory | Op::Partial(..)) {
            state.disown_uploads();
        }
    }
}

/// An object and all below it.
fn remove(state: &mut State, key: &str) {
    let below = format!("{key}/");
    state.objects.retain(|other, _| other != key && !other.starts_with(&below));
}

fn change(state: &mut State, op: Op, serial: u64, key: &str, other: Option<String>, new: &str) {
    let Object { bytes, metadata, .. } = state.objects.get(key).cloned().unwrap_or_default();
    let with = |name: &str, value: &str| {
        let mut metadata = metadata.clone();
        metadata.insert(name.to_owned(), value.to_owned());
        metadata
    };
    let in_the_way = b"in the way".to_vec();
    match op {
        Op::Remove(_) => drop(state.objects.remove(key)),
        Op::RemoveDirectory(_) => {
            let below = format!("{key}/");
            state.objects.retain(|other, _| !other.starts_with(&below));
        }
        Op::Truncate(_) => state.write(key, bytes[..bytes.len() / 2].to_vec(), Metadata::new()),
        Op::Append(_) => state.write(key, [&*bytes, b"more"].concat(), metadata),
        Op::Rewrite { time_kept, .. } => state.write(key, noise(serial, bytes.len()), if time_kept { metadata } else { Metadata::new() }),
        Op::Replace { same_content, .. } => state.write(key, if same_content { bytes } else { noise(serial, bytes.len()) }, metadata),
        Op::ReplaceByOther(_) => state.write(key, noise(serial, bytes.len() + 11), Metadata::new()),
        Op::Touch(_) => state.write(key, bytes, with("file-mtime", &format!("{TOUCHED}ns"))),
        Op::Chmod(_) => state.write(key, bytes, with("file-permissions", "0604")),
        Op::Chown(_) => state.write(key, bytes, with("file-owner", "4321")),
        Op::HardLink(_) => state.write(new, bytes, metadata),
        Op::HardLinkOver(..) => other.into_iter().for_each(|other| state.write(&other, bytes.clone(), metadata.clone())),
        Op::Swap(..) => {
            if let Some((other, there)) = other.and_then(|other| Some((other.clone(), state.objects.get(&other)?.clone()))) {
                state.write(&other, bytes, metadata);
                state.write(key, there.bytes, there.metadata);
            }
        }
        // An object may be where others have a directory, and beside it.
        Op::FileToDirectory(_) | Op::Attribute(_) => {
            if serial.is_multiple_of(3) {
                state.objects.remove(key);
            }
            state.write(&format!("{key}/inside"), in_the_way, Metadata::new());
        }
        Op::DirectoryToFile(_) => {
            if serial.is_multiple_of(3) {
                remove(state, key);
            }
            state.write(key, in_the_way, Metadata::new());
        }
        Op::DirectoryToLink(_) => {
            let below = format!("{key}/");
            let moved: Vec<String> = state.objects.keys().filter(|other| other.starts_with(&below)).cloned().collect();
            for other in moved {
                let Object { bytes, metadata, .. } = state.objects.remove(&other).unwrap();
                state.write(&format!("{new}/{}", &other[below.len()..]), bytes, metadata);
            }
        }
        // As consoles show a directory that holds nothing.
        Op::FileToPipe(_) => state.write(&format!("{key}/"), Vec::new(), Metadata::new()),
        Op::Add(_) => state.write(&format!("{key}/{}", added(serial)), b"new".to_vec(), Metadata::new()),
        _ => {}
    }
    state.objects.retain(|key, _| key.len() <= LONGEST_KEY);
}

impl Drop for BucketPlace {
    fn drop(&mut self) {
        self.service.end();
    }
}
