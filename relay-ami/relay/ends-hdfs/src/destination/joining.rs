//! Parts become one file: their blocks are put behind one another, and no byte moves.

use std::collections::BTreeMap;
use std::io;

use hdfs_native::client::FileStatus;

use cpt_ends::{KEPT_MODE, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::{Digest, to_hex};
use cpt_wire::frame::SegmentHeader;

use super::large::Large;
use super::parts::{from_hex, name, parse};
use super::shared::Shared;
use super::writing::{Writing, read};
use crate::fault::{Meaning, in_the_way, of_data, of_name_node};
use crate::path::{join, split};
use crate::source::nanoseconds;

/// Files that are joined by one call: the name node holds its lock meanwhile, and a call has 64 MiB at most.
const JOINED_AT_ONCE: usize = 1_000;
/// The digests of all parts, in their order, from before the first of them is joined on: then names do not tell them any more.
pub const DIGESTS: &str = "digests";
/// To HDFS this means that a time stays.
const AS_IT_IS: u64 = u64::MAX;

impl Large {
    /// Joins all parts and puts what they are into the file's place.
    pub fn join_parts(&self) -> io::Result<Version> {
        self.take_rest()?;
        let kept = lock(&self.kept).clone();
        let first = kept.get(&0).ok_or_else(|| io::Error::other("a file without parts"))?;
        let target = join(&self.folder, &name(0, first));
        if self.status(&target)?.length as u64 != self.header.size {
            self.note_digests(&kept)?;
            self.join_to(&target, &kept)?;
        }
        let size = self.status(&target)?.length as u64;
        if size != self.header.size {
            let why = format!("{}: its parts have {size} bytes together, and the file has {}", self.path, self.header.size);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let version = put_in_place(&self.of, &target, &self.path, &self.header)?;
        self.of.remove(&self.folder)?;
        Ok(version)
    }

    fn status(&self, path: &str) -> io::Result<FileStatus> {
        let found = self.of.cluster.wait(self.of.cluster.client().get_file_info(path));
        // Somebody has removed it: all of the file comes again.
        found.map_err(|error| match Meaning::of(&error) {
            Meaning::Gone => io::Error::new(io::ErrorKind::InvalidData, format!("{path}: is not there any more")),
            _ => of_data(&error, path),
        })
    }

    fn note_digests(&self, kept: &BTreeMap<u64, Digest>) -> io::Result<()> {
        let text: Vec<String> = kept.values().map(to_hex).collect();
        let mut digests = Writing::begin(&self.of, self.of.temporary(), 0o600)?;
        digests.write(text.join("\n").as_bytes())?;
        self.of.rename(&digests.end()?, &join(&self.folder, DIGESTS))
    }

    /// A call whose answer was lost is followed by a look: what was joined is not there any more.
    fn join_to(&self, target: &str, kept: &BTreeMap<u64, Digest>) -> io::Result<()> {
        let there = self.of.entries(&self.folder)?;
        let there: Vec<&str> = there.iter().map(|found| split(&found.path).1).collect();
        let names = kept.iter().skip(1).map(|(part, digest)| name(*part, digest));
        let rest: Vec<String> = names.filter(|name| there.contains(&name.as_str())).map(|name| join(&self.folder, &name)).collect();
        for some in rest.chunks(JOINED_AT_ONCE) {
            let joined = self.of.cluster.wait(self.of.cluster.client().concat(target, some));
            if let Err(error) = joined {
                let left = self.of.entries(&self.folder)?;
                if some.iter().any(|part| left.iter().any(|found| found.path == *part)) {
                    return Err(of_name_node(&error, target));
                }
                tracing::warn!(path = self.path, %error, "joined, and the answer was lost");
            }
        }
        Ok(())
    }
}

/// The parts of an entry that count. Of what lies beside them nothing does: it is removed.
pub fn kept_parts(of: &Shared, header: &SegmentHeader) -> io::Result<BTreeMap<u64, Digest>> {
    let folder = of.of_entry(header.entry);
    let found = of.entries(&folder)?;
    let length = |part: u64| {
        let at = part.saturating_mul(of.part_size);
        header.size.min(at.saturating_add(of.part_size)).saturating_sub(at)
    };
    let (mut parts, mut joined, mut strays) = (BTreeMap::<u64, (Digest, u64)>::new(), None, Vec::new());
    for file in &found {
        let own = split(&file.path).1;
        if own == DIGESTS {
            joined = Some(file.path.clone());
        }
        let Some((part, digest)) = parse(own) else { continue };
        // Two states of the source: neither is known to be the one that is meant.
        if let Some((other, _)) = parts.insert(part, (digest, file.length as u64)) {
            strays.extend([join(&folder, &name(part, &other)), file.path.clone()]);
            parts.remove(&part);
        }
    }
    strays.iter().try_for_each(|stray| of.remove(stray))?;
    let target = parts.get(&0).copied().filter(|(_, size)| *size > length(0));
    if let Some(((_, size), digests)) = target.zip(joined) {
        let digests = read_digests(of, &digests)?;
        let mut end = 0;
        for (part, digest) in (0..).zip(digests) {
            end += length(part);
            if end <= size {
                parts.insert(part, (digest, length(part)));
            }
        }
    }
    parts.retain(|part, (_, size)| *size == length(*part));
    Ok(parts.into_iter().map(|(part, (digest, _))| (part, digest)).collect())
}

fn read_digests(of: &Shared, path: &str) -> io::Result<Vec<Digest>> {
    let mut text = Vec::new();
    read(&of.cluster, path, |bytes| text.extend_from_slice(bytes))?;
    let lines = text.split(|byte| *byte == b'\n').map(|line| std::str::from_utf8(line).ok().and_then(from_hex));
    Ok(lines.map_while(|digest| digest).collect())
}

/// Gives a file its mode and time, and puts it into its place.
pub fn put_in_place(of: &Shared, from: &str, to: &str, header: &SegmentHeader) -> io::Result<Version> {
    let client = of.cluster.client();
    let milliseconds = header.mtime_ns.div_euclid(1_000_000);
    let found = of.cluster.wait(async {
        client.set_permission(from, u32::from(header.mode) & KEPT_MODE).await?;
        client.set_times(from, milliseconds.cast_unsigned(), AS_IT_IS).await?;
        let found = client.get_file_info(from).await?;
        match client.rename(from, to, true).await {
            // The directory above comes later, with its own mode.
            Err(error) if Meaning::of(&error) == Meaning::Gone => {
                client.mkdirs(split(to).0, 0o755, true).await?;
                client.rename(from, to, true).await?;
            }
            done => done?,
        }
        Ok(found)
    });
    let found = found.map_err(|error| match of.cluster.wait(client.get_file_info(to)) {
        Ok(there) if there.isdir => in_the_way(),
        _ => of_name_node(&error, to),
    })?;
    debug_assert_eq!(nanoseconds(found.modification_time), milliseconds.saturating_mul(1_000_000));
    Ok(crate::source::version(&found))
}
