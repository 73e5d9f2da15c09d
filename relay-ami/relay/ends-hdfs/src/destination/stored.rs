//! What data nodes have stored of files in their places, compared with what was sent: by the CRC-32C that they keep beside each block, and
//! by reading where there is none to compare.

use std::io;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use hdfs_native::file::StoredChecksum;

use cpt_ends::{Heard, InPlace};
use cpt_wire::digest::Proof;

use super::shared::Shared;
use super::writing::read_back;
use crate::checksum::{Crc, OfEntry};
use crate::fault::words;
use crate::path::below;

/// Files of whose blocks data nodes are asked at once.
const AT_ONCE: usize = 32;
/// Pauses after which a file is asked for again whose data nodes or name node do not answer.
const AGAIN: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(4)];

/// What there is to compare.
enum Told {
    Crc(u32),
    /// In words why there is none.
    None(String),
}

/// For each file, in their order, nothing where it is what was sent, else what is there instead, in words.
pub fn compare(of: &Shared, files: &[InPlace<'_>], proof: Proof, heard: Heard<'_>) -> Vec<Result<(), String>> {
    let told: Vec<Told> = of.cluster.wait(async {
        let asked = stream::iter(files).map(|file| async move {
            let told = told(of, file).await;
            heard(0);
            told
        });
        asked.buffered(AT_ONCE).collect().await
    });
    files.iter().zip(told).map(|(file, told)| judge(of, file, told, proof, heard)).collect()
}

fn judge(of: &Shared, file: &InPlace<'_>, told: Told, proof: Proof, heard: Heard<'_>) -> Result<(), String> {
    let why = match (told, of.sums.get(file.entry)) {
        (Told::Crc(stored), Some(OfEntry(sent))) if stored == sent => return Ok(()),
        (Told::Crc(stored), Some(OfEntry(sent))) => {
            return Err(format!("its data nodes have bytes stored whose CRC-32C is {stored:08x}, and {sent:08x} was sent"));
        }
        (Told::Crc(_), None) => "it is not known which one was sent".to_owned(),
        (Told::None(why), _) => why,
    };
    let path = below(&of.root, file.path).map_err(|error| error.to_string())?;
    tracing::warn!(path, why, "is read back: no stored checksum proves it");
    read_back(&of.cluster, &path, proof.whole(), &file.digest, heard).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => "is stored with other bytes than those that were sent".to_owned(),
        _ => error.to_string(),
    })
}

async fn told(of: &Shared, file: &InPlace<'_>) -> Told {
    let path = match below(&of.root, file.path) {
        Ok(path) => path,
        Err(error) => return Told::None(error.to_string()),
    };
    let mut pauses = AGAIN.iter();
    loop {
        let error = match ask(of, &path).await {
            Ok(told) => return told,
            Err(error) => error,
        };
        let Some(pause) = pauses.next() else { return Told::None(words(&error)) };
        tracing::warn!(path, error = words(&error), "its stored checksum is asked for again");
        tokio::time::sleep(*pause).await;
    }
}

/// One call of the name node, and an operation of a data node for each block.
async fn ask(of: &Shared, path: &str) -> hdfs_native::Result<Told> {
    let reader = of.cluster.client().read(path).await?;
    let blocks: Vec<(u64, StoredChecksum)> = reader.stored_checksums().try_collect().await?;
    let mut sum = Crc::NONE;
    for (length, stored) in blocks {
        match stored {
            StoredChecksum::Crc32c(crc) => sum = sum.and(Crc::new(crc, length)),
            StoredChecksum::Crc32(_) => return Ok(Told::None("a data node has CRC-32 stored, not CRC-32C".to_owned())),
            StoredChecksum::Other(what) => return Ok(Told::None(format!("a data node has no CRC-32C stored: {what}"))),
        }
    }
    Ok(Told::Crc(sum.value()))
}
