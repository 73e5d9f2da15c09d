//! Data that is packed on its way arrives as it was; what does not shrink goes out as it is.

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::documents::command::Compress;
use cpt_relay::secure::record::DATA_BYTES;
use cpt_relay::survey::scan;
use cpt_relay::wire::frame::Frame;
use cpt_relay::{receive, send};

use crate::destination::Siege;
use crate::harness::{Transfer, noise, path, sent_once};
use crate::speaker::{Entry, Speaker, digest};

const CHUNK: u64 = 1 << 20;
/// Mbit/s at which packing takes less time than writing on any machine, even on one that is busy.
const SLOW: Option<u64> = Some(80);

/// Lines as a log has them, no two alike.
fn log(bytes: usize) -> Vec<u8> {
    let lines =
        (0u64..).map(|number| format!("2026-11-25T07:{:02}:{:02} GET /items/{} 200\n", number / 60 % 60, number % 60, number * 7919));
    lines.flat_map(String::into_bytes).take(bytes).collect()
}

fn send(compress: Compress, fill: impl FnOnce(&std::path::Path)) -> send::Totals {
    let mut transfer = Transfer::plan(CHUNK, None, fill);
    transfer.compress = compress;
    let receiver = transfer.receive();
    let sender = transfer.send(SLOW);
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let send::Outcome::Delivered(totals) = sender.join() else { panic!("not delivered") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    totals
}

#[test]
fn text_is_packed_and_arrives_as_it_was() {
    let totals = send(Compress::Auto, |root| {
        std::fs::write(root.join("log"), log(24 << 20)).unwrap();
        for number in 0..200 {
            std::fs::write(root.join(format!("small-{number}")), log(number * 97)).unwrap();
        }
    });
    assert_eq!(sent_once(&totals), totals.bytes);
    assert!(totals.saved_bytes > totals.bytes / 2, "{} of {} were saved", totals.saved_bytes, totals.bytes);
}

#[test]
fn what_does_not_shrink_is_sent_as_it_is() {
    let totals = send(Compress::Auto, |root| std::fs::write(root.join("photo"), noise(3, 16 << 20)).unwrap());
    assert_eq!(totals.saved_bytes, 0);
}

#[test]
fn nothing_is_packed_where_the_request_does_not_say_so() {
    let totals = send(Compress::Never, |root| std::fs::write(root.join("log"), log(4 << 20)).unwrap());
    assert_eq!(totals.saved_bytes, 0);
}

#[test]
fn a_survey_says_how_well_the_source_packs_where_it_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let control = Directory::open(directory.path().join("control"), plan::RANGE_SIZE, None).unwrap();
    let share = |name: &str, compress: Compress| {
        let source = PosixSource::new(vec![directory.path().join(name).join("")]);
        let options = scan::Options { compress, ..scan::Options::default() };
        serde_json::to_value(scan::source(&source, &control, "", options).unwrap()).unwrap()["packedShare"].as_f64()
    };
    for (name, texts, photos) in [("text", 16, 0), ("photos", 0, 16), ("both", 8, 8), ("nothing", 0, 0)] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
        for number in 0..texts {
            std::fs::write(directory.path().join(name).join(format!("text-{number}")), log(1 << 20)).unwrap();
        }
        for number in 0..photos {
            std::fs::write(directory.path().join(name).join(format!("photo-{number}")), noise(number, 1 << 20)).unwrap();
        }
    }
    let (text, both) = (share("text", Compress::Auto).unwrap(), share("both", Compress::Auto).unwrap());
    assert!(text < 0.4, "{text}");
    assert_eq!(share("photos", Compress::Auto), Some(1.0));
    assert!((both - f64::midpoint(text, 1.0)).abs() < 0.1, "{both} of half a text of {text}");
    assert_eq!((share("nothing", Compress::Auto), share("text", Compress::Never)), (None, None));
}

fn packed(speaker: &mut Speaker, bytes: &[u8]) {
    Frame::Packed(bytes.len()).encode(speaker.sealer.frames());
    let _ = speaker.sealer.write(bytes).and_then(|()| speaker.sealer.flush());
}

#[test]
fn packed_frames_that_lie_end_the_stream_and_honest_ones_count() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    let text = log(DATA_BYTES);
    let good = zstd::bulk::compress(&text, 3).unwrap();
    let entry = Entry::file(0, b"log", &text);
    speaker.begin(0, 1, 1);
    speaker.say(&Frame::Segment(entry.header.clone()));
    packed(&mut speaker, &good);
    speaker.say(&Frame::Digest(digest(std::slice::from_ref(&entry))));
    speaker.answer().is_counted();
    assert_eq!(std::fs::read(siege.inside("log")).unwrap(), text);

    let bomb = zstd::bulk::compress(&vec![0; 1 << 30], 19).unwrap();
    assert!(bomb.len() < DATA_BYTES, "a gigabyte in {} bytes", bomb.len());
    let cut = good[..good.len() / 2].to_vec();
    let one_more = zstd::bulk::compress(&log(DATA_BYTES + 1), 3).unwrap();
    let nothing = zstd::bulk::compress(&[], 3).unwrap();
    let changed: Vec<u8> = good.iter().enumerate().map(|(at, byte)| if at < 4 { 0 } else { *byte }).collect();
    for (number, lie) in
        [bomb, cut, one_more, nothing, changed, noise(5, 500), Vec::new(), noise(6, DATA_BYTES + 1)].into_iter().enumerate()
    {
        let mut speaker = Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
        speaker.begin(1, 1, 1);
        // Room for whatever it says.
        speaker.say(&Frame::Segment(Entry::file(1, b"lie", &vec![0; CHUNK as usize]).header));
        packed(&mut speaker, &lie);
        assert!(matches!(speaker.answer(), crate::speaker::Answer::HungUp), "lie {number}");
    }
    // More than the segment has.
    let mut speaker = Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
    speaker.begin(1, 1, 1);
    speaker.say(&Frame::Segment(Entry::file(1, b"short", &text[..DATA_BYTES - 1]).header));
    packed(&mut speaker, &good);
    speaker.answer().is_hung_up();
    siege.end();
}
