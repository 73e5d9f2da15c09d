#![allow(clippy::unwrap_used)]

use super::*;
use crate::documents::event::SkipReason;
use crate::send::builders::segment;

fn plan(digit: &str) -> PlanId {
    PlanId::new(digit.repeat(32)).unwrap()
}

fn whole(entries: u64) -> Sent {
    Sent::Whole((0..entries).map(|entry| (entry, [entry as u8; 32])).collect())
}

fn part(offset: u64) -> Sent {
    Sent::Part { entry: 9, size: 100, offset, state: Version::of_numbers((4, -7)), digest: [7; 32] }
}

fn left_out(entry: u64) -> LeftOut {
    LeftOut::of(&segment(entry, "f"), SkipReason::SourceChanged, "grew")
}

fn go_on_in(path: &Path, plan: &PlanId) -> SentJournal {
    SentJournal::go_on(Some(open(path).unwrap()), plan, Proof::Blake3).0
}

/// Returns what a sender would know, as text.
fn known(path: &Path, plan: &PlanId) -> Vec<(u64, String)> {
    let journal = go_on_in(path, plan);
    (0..=100).filter_map(|chunk| Some((chunk, format!("{:?}", journal.take(chunk)?)))).collect()
}

fn noted(path: &Path) -> Vec<(u64, String)> {
    let journal = go_on_in(path, &plan("a"));
    for (chunk, sent) in [(3, whole(3)), (4, part(0)), (5, whole(0)), (6, part(50))] {
        journal.note(chunk, &sent);
    }
    [(3, whole(3)), (4, part(0)), (5, whole(0)), (6, part(50))].map(|(chunk, sent)| (chunk, format!("{sent:?}"))).to_vec()
}

#[test]
fn what_was_noted_is_known_to_the_next_sender_of_the_same_plan_and_to_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("send.sent");
    let all = noted(&path);
    assert_eq!(known(&path, &plan("a")), all);
    go_on_in(&path, &plan("a")).note(4, &part(10));
    assert_eq!(known(&path, &plan("a"))[1].1, format!("{:?}", part(10)), "what was sent last counts");
    assert!(SentJournal::go_on(Some(open(&path).unwrap()), &plan("a"), Proof::Crc64).0.take(4).is_none(), "digests of another kind");
    noted(&path);
    assert_eq!(known(&path, &plan("b")), []);
    assert_eq!(known(&path, &plan("a")), [], "it began anew");
}

#[test]
fn what_was_left_out_and_of_which_state_parts_are_is_known_to_the_next_sender_of_the_same_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("send.sent");
    let earlier = |digit: &str| SentJournal::go_on(Some(open(&path).unwrap()), &plan(digit), Proof::Blake3).1;
    noted(&path);
    go_on_in(&path, &plan("a")).note_left_out(&left_out(2));
    let found = earlier("a");
    let mut begun = Begun::of(Version::of_numbers((4, -7)));
    [0, 50].into_iter().for_each(|offset| begun.note(offset, [7; 32], Version::of_numbers((4, -7))));
    assert_eq!((found.begun, found.left_out), (HashMap::from([(9, begun)]), vec![left_out(2)]));
    let other = earlier("b");
    assert!(other.begun.is_empty() && other.left_out.is_empty());
}

#[test]
fn a_journal_counts_up_to_where_it_is_cut_off_or_spoiled_and_is_continued_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("send.sent");
    let all = noted(&path);
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let left = known(&path, &plan("a"));
        assert_eq!(left, all[..left.len()], "cut to {length}");
        go_on_in(&path, &plan("a")).note(100, &whole(1));
        assert_eq!(known(&path, &plan("a")).last().unwrap().0, 100);
    }
    for at in (0..bytes.len()).step_by(7) {
        let mut spoiled = bytes.clone();
        spoiled[at] ^= 1;
        std::fs::write(&path, &spoiled).unwrap();
        let left = known(&path, &plan("a"));
        assert!(left.len() < all.len() && left == all[..left.len()], "spoiled at {at}");
    }
}

#[test]
fn without_a_file_or_with_one_that_takes_nothing_no_sender_fails() {
    let folder = tempfile::tempdir().unwrap();
    for file in [None, Some(File::open(folder.path()).unwrap())] {
        let (journal, _) = SentJournal::go_on(file, &plan("a"), Proof::Blake3);
        journal.note(1, &whole(1));
        assert!(journal.take(1).is_none());
    }
}
