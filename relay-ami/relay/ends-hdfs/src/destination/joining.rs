//! Parts become one file: their blocks are put behind one another, and no byte moves.

use std::collections::BTreeMap;
use std::io;

use hdfs_native::client::FileStatus;

use cpt_ends::Version;
use cpt_process::thread::lock;
use cpt_wire::frame::SegmentHeader;

use super::dress::Dress;
use super::large::Large;
use super::parts::{Kept, name, parse};
use super::shared::Shared;
use super::writing::{Ended, Writing, read};
use crate::fault::{Meaning, in_the_way, of_data, of_name_node, words};
use crate::path::{join, split};

/// Files that are joined by one call: the name node holds its lock meanwhile, and a call has 64 MiB at most.
const JOINED_AT_ONCE: usize = 1_000;
/// Digests and checksums of all parts, in their order, from before the first of them is joined on: then names do not tell them any more.
pub const DIGESTS: &str = "digests";

impl Large {
    /// Joins all parts and puts what they are into the file's place.
    pub fn join_parts(&self) -> io::Result<Version> {
        // An earlier process may have done so, and not have lived to note it.
        if let Some(there) = self.of_digests()?.and_then(|digests| digests.file_id).and_then(|file_id| self.placed(file_id).transpose()) {
            return there;
        }
        self.take_rest()?;
        let kept = lock(&self.kept).clone();
        let first = kept.get(&0).ok_or_else(|| io::Error::other("a file without parts"))?;
        let target = join(&self.folder, &name(0, first));
        let found = self.status(&target)?;
        self.note_digests(&kept, found.file_id)?;
        if found.length as u64 != self.header.size {
            self.join_to(&target, &kept)?;
        }
        // The folder stays until that is noted: its digests say of the file in its place what it was made of.
        put_in_place(&self.of, &target, &self.path, &self.header)
    }

    fn of_digests(&self) -> io::Result<Option<Digests>> {
        Digests::read(&self.of, &join(&self.folder, DIGESTS))
    }

    /// The file in its place, where it is this one and whole.
    fn placed(&self, file_id: u64) -> io::Result<Option<Version>> {
        match self.of.cluster.persist(|| self.of.cluster.client().get_file_info(&self.path)) {
            Ok(there) if there.file_id == file_id && there.length as u64 == self.header.size => {
                dress(&self.of, &self.path, &self.header).map(|there| Some(crate::source::version(&there)))
            }
            Ok(_) => Ok(None),
            Err(error) if Meaning::of(&error) == Meaning::Gone => Ok(None),
            Err(error) => Err(of_data(&error, &self.path)),
        }
    }

    fn status(&self, path: &str) -> io::Result<FileStatus> {
        let found = self.of.cluster.persist(|| self.of.cluster.client().get_file_info(path));
        // Somebody has removed it: all of the file comes again.
        found.map_err(|error| match Meaning::of(&error) {
            Meaning::Gone => io::Error::new(io::ErrorKind::InvalidData, format!("{path}: is not there any more")),
            _ => of_data(&error, path),
        })
    }

    fn note_digests(&self, kept: &BTreeMap<u64, Kept>, file_id: u64) -> io::Result<()> {
        let lines: Vec<String> = std::iter::once(file_id.to_string()).chain(kept.values().map(Kept::text)).collect();
        let mut digests = Writing::begin(&self.of, self.of.temporary(), 0o600)?;
        digests.write(lines.join("\n").as_bytes())?;
        self.of.rename(&digests.end()?.path, &join(&self.folder, DIGESTS))
    }

    /// A call whose answer was lost is followed by a look: what was joined is not there any more.
    fn join_to(&self, target: &str, kept: &BTreeMap<u64, Kept>) -> io::Result<()> {
        let there = self.of.entries(&self.folder)?;
        let there: Vec<&str> = there.iter().map(|found| split(&found.path).1).collect();
        let names = kept.iter().skip(1).map(|(part, kept)| name(*part, kept));
        let rest: Vec<String> = names.filter(|name| there.contains(&name.as_str())).map(|name| join(&self.folder, &name)).collect();
        for some in rest.chunks(JOINED_AT_ONCE) {
            let joined = self.of.cluster.wait(self.of.cluster.client().concat(target, some));
            if let Err(error) = joined {
                let left = self.of.entries(&self.folder)?;
                if some.iter().any(|part| left.iter().any(|found| found.path == *part)) {
                    // A snapshot has them: they can never be joined, and all of the file comes again.
                    let is_in_snapshot = words(&error).contains("SnapshotException");
                    return Err(if is_in_snapshot {
                        io::Error::new(io::ErrorKind::InvalidData, words(&error))
                    } else {
                        of_name_node(&error, target)
                    });
                }
                tracing::warn!(path = self.path, %error, "joined, and the answer was lost");
            }
        }
        Ok(())
    }
}

/// The parts of an entry that count; `place` is where it lands. Of what lies beside them nothing does: it is removed.
pub fn kept_parts(of: &Shared, header: &SegmentHeader, place: &str) -> io::Result<BTreeMap<u64, Kept>> {
    let folder = of.of_entry(header.entry);
    let found = of.entries(&folder)?;
    let length = |part: u64| {
        let at = part.saturating_mul(of.part_size);
        header.size.min(at.saturating_add(of.part_size)).saturating_sub(at)
    };
    let (mut parts, mut joined, mut strays) = (BTreeMap::<u64, (Kept, u64)>::new(), None, Vec::new());
    for file in &found {
        let own = split(&file.path).1;
        if own == DIGESTS {
            joined = Some(file.path.clone());
        }
        let Some((part, kept)) = parse(own) else { continue };
        // Two states of the source: neither is known to be the one that is meant.
        if let Some((other, _)) = parts.insert(part, (kept, file.length as u64)) {
            strays.extend([join(&folder, &name(part, &other)), file.path.clone()]);
            parts.remove(&part);
        }
    }
    strays.iter().try_for_each(|stray| of.remove(stray))?;
    let digests = joined.map(|path| Digests::read(of, &path)).transpose()?.flatten();
    let joined_to = match (parts.get(&0), &digests) {
        (Some((_, size)), Some(_)) if *size > length(0) => Some(*size),
        // It is in its place already, and whoever put it there did not live to note it.
        (None, Some(Digests { file_id: Some(file_id), .. })) => size_of(of, place, *file_id)?,
        _ => None,
    };
    if let Some((size, digests)) = joined_to.zip(digests) {
        let mut end = 0;
        for (part, kept) in (0..).zip(digests.parts) {
            end += length(part);
            if end <= size {
                // That to which the others are joined has a name still.
                let named = parts.get(&part).map(|(named, _)| *named).filter(|named| named.digest == kept.digest);
                parts.insert(part, (named.unwrap_or(kept), length(part)));
            }
        }
    }
    parts.retain(|part, (_, size)| *size == length(*part));
    Ok(parts.into_iter().map(|(part, (kept, _))| (part, kept)).collect())
}

/// The size of the file at a path, where it is this one.
fn size_of(of: &Shared, path: &str, file_id: u64) -> io::Result<Option<u64>> {
    match of.cluster.persist(|| of.cluster.client().get_file_info(path)) {
        Ok(there) => Ok((there.file_id == file_id).then_some(there.length as u64)),
        Err(error) if Meaning::of(&error) == Meaning::Gone => Ok(None),
        Err(error) => Err(of_data(&error, path)),
    }
}

/// What a file is joined of.
struct Digests {
    /// The inode of the first part, which is that of the file.
    file_id: Option<u64>,
    parts: Vec<Kept>,
}

impl Digests {
    fn read(of: &Shared, path: &str) -> io::Result<Option<Self>> {
        let mut text = Vec::new();
        match read(&of.cluster, path, |bytes| text.extend_from_slice(bytes)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut lines = text.split(|byte| *byte == b'\n').map(|line| std::str::from_utf8(line).unwrap_or_default());
        let file_id = lines.next().and_then(|line| line.parse().ok());
        Ok(Some(Self { file_id, parts: lines.map_while(Kept::parse).collect() }))
    }
}

/// Gives a file its mode and time, and looks at it then.
fn dress(of: &Shared, path: &str, header: &SegmentHeader) -> io::Result<FileStatus> {
    let (client, dress) = (of.cluster.client(), Dress::of(header)?);
    let found = of.cluster.wait(async {
        dress.put_on(client, path).await?;
        client.get_file_info(path).await
    });
    found.map_err(|error| of_name_node(&error, path))
}

/// Gives a file its mode and time, and puts it into its place.
fn put_in_place(of: &Shared, from: &str, to: &str, header: &SegmentHeader) -> io::Result<Version> {
    let found = dress(of, from, header)?;
    // Another process may have made it anew since.
    check_size(to, found.length as u64, header)?;
    rename(of, from, found.file_id, to)?;
    Ok(crate::source::version(&found))
}

/// The same of one that only this process has ever written, of which nobody has to be asked what it is.
pub fn put_new_in_place(of: &Shared, ended: &Ended, to: &str, header: &SegmentHeader) -> io::Result<Version> {
    check_size(to, ended.crc.length(), header)?;
    let (client, from, dress) = (of.cluster.client(), &ended.path, Dress::of(header)?);
    let dressed = of.cluster.wait(dress.put_on_new(client, from, ended.mode));
    dressed.map_err(|error| of_name_node(&error, from))?;
    rename(of, from, ended.file_id, to)?;
    Ok(Version::of_numbers((ended.file_id, dress.milliseconds.cast_signed())))
}

fn check_size(path: &str, is: u64, header: &SegmentHeader) -> io::Result<()> {
    if is == header.size {
        return Ok(());
    }
    let why = format!("{path}: {is} bytes are there, and the file has {}", header.size);
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Renames a file into its place. An answer that was lost is followed by a look.
fn rename(of: &Shared, from: &str, file_id: u64, to: &str) -> io::Result<()> {
    let client = of.cluster.client();
    let renamed = of.cluster.wait(async {
        match client.rename(from, to, true).await {
            // The directory above comes later, with its own mode.
            Err(error) if Meaning::of(&error) == Meaning::Gone => {
                client.mkdirs(split(to).0, 0o755, true).await?;
                client.rename(from, to, true).await
            }
            done => done,
        }
    });
    let Err(error) = renamed else { return Ok(()) };
    match of.cluster.persist(|| client.get_file_info(to)) {
        Ok(there) if there.file_id == file_id => tracing::warn!(path = to, %error, "is in its place, and the answer was lost"),
        Ok(there) if there.isdir => return Err(in_the_way()),
        _ => return Err(of_name_node(&error, to)),
    }
    Ok(())
}
