//! Inside the encryption: what a sender with bad memory says, which no cipher can tell from the truth.

use cpt_relay::control::Seat;
use cpt_relay::digest::Digest;
use cpt_relay::documents::command::Verify;
use cpt_relay::receive;
use cpt_relay::secure::keys::Identity;
use cpt_relay::wire::frame::Frame;

use crate::harness::{Running, Transfer, noise};
use crate::speaker::{Answer, Entry, Speaker, digest_by, introduce};
use crate::tally::{Count, Random, Run};

const CHUNK: u64 = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum Lie {
    Data,
    Digest,
    Header,
    /// Frames that are in the wrong order or place; by number.
    Order(usize),
}

const ORDERS: [&str; 12] = [
    "digest before the data",
    "data without a segment",
    "a chunk in a chunk",
    "an acknowledgement from the sender",
    "a second greeting",
    "leaving in a chunk",
    "finishing in a chunk",
    "one segment too many",
    "one segment too few",
    "more data than announced",
    "less data than announced",
    "an unknown frame",
];

pub fn run(run: &Run<'_>) {
    // Mostly they wait for syncs.
    std::thread::scope(|scope| {
        for verify in [Verify::Digest, Verify::Crc64] {
            scope.spawn(move || all(run, verify));
        }
    });
}

fn all(run: &Run<'_>, verify: Verify) {
    let mut lies = Vec::new();
    for _ in 0..run.factor {
        lies.extend([Lie::Data; 60]);
        lies.extend([Lie::Digest; 40]);
        lies.extend([Lie::Header; 100]);
        lies.extend((0..4 * ORDERS.len()).map(|at| Lie::Order(at % ORDERS.len())));
    }
    let mut transfer = Transfer::plan(CHUNK, None, |_| {});
    transfer.plan.bytes = 1 << 20;
    transfer.verify = verify;
    let receiver = transfer.receive();
    let mut bench = Bench { identity: introduce(&transfer), speaker: None, transfer, receiver };
    let mut random = Random::new(run.seed, "inside", 0);
    let chunks: Vec<Vec<Entry>> = lies.iter().enumerate().map(|(at, lie)| entries(at as u64, *lie)).collect();
    let mut detected = Vec::new();
    for ((at, lie), entries) in lies.iter().enumerate().zip(&chunks) {
        detected.push(bench.is_found_out(at as u64, *lie, entries, &mut random));
    }
    // Now the truth: each chunk counts, and the tree is what it should be.
    bench.stream();
    for (chunk, entries) in chunks.iter().enumerate() {
        bench.tell(chunk as u64, 2, entries);
    }
    let others = chunks.iter().filter(|entries| is_part(&entries[0])).map(|entries| other_part(&entries[0]));
    let others: Vec<Entry> = others.collect();
    for other in &others {
        bench.tell(1_000_000 + other.header.entry, 1, std::slice::from_ref(other));
    }
    let speaker = bench.stream();
    for _ in 0..chunks.len() + others.len() {
        speaker.answer().is_counted();
    }
    for ((lie, entries), found_out) in lies.iter().zip(&chunks).zip(detected) {
        let repaired = entries.iter().all(|entry| bench.holds(entry));
        let kind = match lie {
            Lie::Order(number) => format!("inside: {}", ORDERS[*number]),
            lie => format!("inside: flipped bit, {lie:?}"),
        };
        run.tally.add(
            &kind,
            Count { planned: 1, injected: 1, detected: usize::from(found_out), repaired: usize::from(repaired && found_out), reported: 0 },
        );
    }
    let mut expected: Vec<String> = chunks.iter().flatten().map(|entry| String::from_utf8(entry.header.path.clone()).unwrap()).collect();
    expected.push(".cpt-partial-t-1".to_owned());
    expected.sort_unstable();
    expected.dedup();
    let mut arrived: Vec<String> =
        std::fs::read_dir(bench.transfer.destination()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    arrived.sort_unstable();
    assert_eq!(arrived, expected, "nothing came under a wrong name");
    bench.receiver.stop.request();
    bench.receiver.join();
}

/// Two small files and a link; every third lie about a header is one about a part of a large file.
fn entries(number: u64, lie: Lie) -> Vec<Entry> {
    let bytes = noise(number, CHUNK as usize);
    if matches!(lie, Lie::Header) && number.is_multiple_of(3) {
        return vec![Entry::part(10 * number, format!("large-{number}").as_bytes(), CHUNK + 5000, 0, &bytes)];
    }
    vec![
        Entry::file(10 * number, format!("a-{number}").as_bytes(), &bytes[..3000]),
        Entry::link(10 * number + 1, format!("link-{number}").as_bytes(), b"a-0"),
        Entry::file(10 * number + 2, format!("b-{number}").as_bytes(), &bytes[..20_000]),
    ]
}

fn is_part(entry: &Entry) -> bool {
    entry.header.length < entry.header.size
}

fn other_part(entry: &Entry) -> Entry {
    let bytes = noise(entry.header.entry, 5000);
    Entry::part(entry.header.entry, &entry.header.path, entry.header.size, entry.header.length, &bytes)
}

struct Bench {
    transfer: Transfer,
    receiver: Running<receive::Outcome>,
    identity: Identity,
    speaker: Option<Speaker>,
}

impl Bench {
    fn stream(&mut self) -> &mut Speaker {
        let (transfer, identity, address) = (&self.transfer, &self.identity, self.receiver.address);
        self.speaker.get_or_insert_with(|| Speaker::connect(transfer, identity, address))
    }

    /// A chunk as it should be.
    fn tell(&mut self, chunk: u64, attempt: u32, entries: &[Entry]) {
        let speaker = self.stream();
        speaker.begin(chunk, attempt, entries.len());
        for entry in entries {
            speaker.entry(entry);
        }
        let digest = digest_by(speaker.proof, entries);
        speaker.say(&Frame::Digest(digest));
    }

    fn holds(&self, entry: &Entry) -> bool {
        let path = self.transfer.destination().join(std::str::from_utf8(&entry.header.path).unwrap());
        if is_part(entry) {
            return std::fs::read(path).is_ok_and(|bytes| bytes == [&*entry.bytes, &other_part(entry).bytes].concat());
        }
        if entry.header.target.is_empty() {
            return std::fs::read(path).is_ok_and(|bytes| bytes == entry.bytes);
        }
        std::fs::read_link(path).is_ok_and(|target| target.as_os_str().as_encoded_bytes() == entry.header.target)
    }

    /// Whether the receiver refuses the chunk or ends the stream.
    fn is_found_out(&mut self, chunk: u64, lie: Lie, entries: &[Entry], random: &mut Random) -> bool {
        let speaker = self.stream();
        let truth = digest_by(speaker.proof, entries);
        match lie {
            Lie::Data => {
                let mut spoiled = entries.to_vec();
                let at = random.index(spoiled[2].bytes.len());
                spoiled[2].bytes[at] ^= 1 << random.below(8);
                say(speaker, chunk, &spoiled, truth);
            }
            Lie::Digest => {
                let mut spoiled = truth;
                spoiled[random.index(32)] ^= 1 << random.below(8);
                say(speaker, chunk, entries, spoiled);
            }
            Lie::Header => {
                speaker.begin(chunk, 1, entries.len());
                let mut frame = Vec::new();
                Frame::Segment(entries[0].header.clone()).encode(&mut frame);
                let bit = random.index(8 * (frame.len() - 5));
                frame[5 + bit / 8] ^= 1 << (bit % 8);
                speaker.sealer.frames().extend_from_slice(&frame);
                speaker.data(&entries[0].bytes);
                for entry in &entries[1..] {
                    speaker.entry(entry);
                }
                speaker.say(&Frame::Digest(truth));
            }
            Lie::Order(number) => disorder(speaker, chunk, number, entries, truth),
        }
        // A receiver that waits for what does not come is at the end of its stream.
        let _ = speaker.sealer.close();
        let answer = speaker.answer();
        self.speaker = None;
        !matches!(answer, Answer::Counted)
    }
}

fn say(speaker: &mut Speaker, chunk: u64, entries: &[Entry], digest: Digest) {
    speaker.begin(chunk, 1, entries.len());
    for entry in entries {
        speaker.entry(entry);
    }
    speaker.say(&Frame::Digest(digest));
}

fn disorder(speaker: &mut Speaker, chunk: u64, number: usize, entries: &[Entry], truth: Digest) {
    let first = &entries[0];
    match number {
        0 => {
            speaker.begin(chunk, 1, 1);
            speaker.say(&Frame::Segment(first.header.clone()));
            speaker.say(&Frame::Digest(truth));
            speaker.data(&first.bytes);
        }
        1 => {
            speaker.begin(chunk, 1, 1);
            speaker.data(&first.bytes);
        }
        2 => {
            speaker.begin(chunk, 1, 2);
            speaker.entry(first);
            speaker.begin(chunk, 1, 1);
        }
        3 => speaker.say(&Frame::Ack { chunk, attempt: 1 }),
        4 => {
            let (transfer, path, proof) = ("t-1".to_owned(), "direct".to_owned(), speaker.proof);
            speaker.say(&Frame::Hello { version: 1, transfer, seat: Seat::SENDER, epoch: 1, path, generation: 1, lane: 0, proof });
        }
        5 => {
            speaker.begin(chunk, 1, 2);
            speaker.entry(first);
            speaker.say(&Frame::Drain);
        }
        6 => {
            speaker.begin(chunk, 1, 2);
            speaker.entry(first);
            speaker.say(&Frame::Finish { complete: true, skipped: 0, entries: 0, tree: truth });
        }
        7 => {
            speaker.begin(chunk, 1, 1);
            speaker.entry(first);
            speaker.entry(&entries[1]);
        }
        8 => {
            speaker.begin(chunk, 1, 3);
            speaker.entry(first);
            speaker.say(&Frame::Digest(truth));
        }
        9 => {
            speaker.begin(chunk, 1, 1);
            speaker.entry(first);
            speaker.data(&[0]);
        }
        10 => {
            speaker.begin(chunk, 1, 2);
            speaker.say(&Frame::Segment(first.header.clone()));
            speaker.data(&first.bytes[1..]);
            speaker.entry(&entries[1]);
        }
        _ => {
            speaker.begin(chunk, 1, 1);
            speaker.sealer.frames().extend_from_slice(&[0x7f, 0, 0, 0, 0]);
            speaker.say(&Frame::Drain);
        }
    }
}
