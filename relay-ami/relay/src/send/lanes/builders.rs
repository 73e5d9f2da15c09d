//! A sender's lanes as their tests want them: over files whose bytes are the same, without a network.

use std::io;
use std::sync::Arc;

use super::{Common, Lease};
use crate::builders::control::InMemory;
use crate::control::{Control, Seat};
use crate::digest::{Digest, Proof};
use crate::documents::command::Compress;
use crate::documents::entry::Segment;
use crate::documents::plan::TransferPlan;
use crate::documents::text::TransferId;
use crate::ends::{Each, Halted, Source, SourceFailure, SourceFile, Version};
use crate::entry_table::EntryTable;
use crate::objects::digests::Digests;
use crate::rate::{Bucket, RateRules};
use crate::secure::keys::{Identity, generate_route_key};
use crate::send::builders::{plan, segment};
use crate::send::error::Trouble;
use crate::send::manifests::Manifests;
use crate::send::noted::{Earlier, SentJournal};
use crate::send::questions::Questions;
use crate::send::queue::Patience;
use crate::send::reading::Reading;
use crate::send::settled::{Chunks, Ending, Inboxes, Repairs};
use crate::send::streams::{Blame, Hearing, Pace, PeerKeys, Streams};
use crate::send::work::Work;
use crate::stop::Stop;
use crate::transport::route::Router;

/// Bytes of each file; [`segment`] has as many.
pub const CONTENT: &[u8; 7] = b"content";

struct Same;

impl SourceFile for Same {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        let rest = &CONTENT[offset as usize..];
        buffer[..rest.len()].copy_from_slice(rest);
        Ok(rest.len())
    }

    fn state(&self) -> Version {
        Version::NONE
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        Ok(Version::NONE)
    }
}

impl Source for Same {
    fn list(&self, _each: Each<'_>) -> Result<(), Halted> {
        Ok(())
    }

    fn open<'a>(&'a self, _segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        Ok(Some(Box::new(Self)))
    }

    fn digest(&self, _key: &[u8]) -> io::Result<Digest> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sample(&self, _key: &[u8], _offset: u64, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_rate(&self, _key: &[u8], _size: u64) -> Option<f64> {
        None
    }
}

/// Lanes of a plan of so many chunks, all of data, with what the threads beside them would read.
pub fn common(chunks: u64) -> (Arc<Common>, Inboxes, Arc<InMemory>) {
    let plan = TransferPlan { chunks, last_phase_chunks: 0, bytes: 7 * chunks, ..plan() };
    let memory = Arc::new(InMemory::default());
    let control: Arc<dyn Control> = Arc::<InMemory>::clone(&memory);
    let (proof, stop, transfer) = (Proof::Blake3, Stop::new().unwrap(), TransferId::new("t").unwrap());
    let (chunks, inboxes) =
        Chunks::new(&plan, proof, Patience::default(), SentJournal::default(), Earlier::default(), EntryTable::default(), None);
    let chunks = Arc::new(chunks);
    let manifests = Manifests { control: Arc::clone(&control), prefix: String::new() };
    let questions = Arc::new(Questions::new(Arc::clone(&chunks.queue), stop.clone()));
    let digests = Digests::new(Arc::clone(&control), "", &plan.plan_id);
    let common = Common {
        streams: Arc::new(Streams {
            seat: Seat::SENDER,
            epoch: 1,
            proof,
            compress: Compress::Never,
            router: Arc::new(Router { transfer: transfer.clone(), key: generate_route_key().unwrap() }),
            identity: Identity::generate().unwrap(),
            peer_keys: PeerKeys::new(Arc::clone(&control)),
            rules: RateRules::default(),
            limit: Bucket::unlimited(),
        }),
        reading: Reading::new(Arc::new(Same), proof, Arc::clone(&chunks.skipped), Arc::clone(&chunks.states)),
        ending: Arc::new(Ending {
            seat: Seat::SENDER,
            control: Arc::clone(&control),
            digests,
            manifests,
            questions,
            chunks: Arc::clone(&chunks),
            repairs: Repairs::default(),
        }),
        chunks,
        hearing: Arc::new(Hearing::default()),
        blame: Blame::new(transfer, 1, control),
        pace: Pace::default(),
        lease: Lease::of_start(0),
        trouble: Arc::new(Trouble::default()),
        stop,
    };
    (Arc::new(common), inboxes, memory)
}

/// The first attempt of a chunk of one file for each of these entries.
pub fn files(chunk: u64, entries: &[u64]) -> Work {
    let lines: Vec<String> = entries.iter().map(|entry| serde_json::to_string(&segment(*entry, &format!("f{entry}"))).unwrap()).collect();
    let (bytes, files) = (7 * entries.len() as u64, entries.len() as u64);
    let manifest = Arc::from(lines.join("\n").as_bytes());
    Work { chunk, attempt: 1, phase: 0, bytes, files, manifest, again: false, flight: Arc::default() }
}
