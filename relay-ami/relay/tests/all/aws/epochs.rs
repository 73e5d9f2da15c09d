//! Which process of an end counts: each claims an epoch of its own, in one write with its keys.

use cpt_relay::control::{Control as _, KeyRecord, Seat};
use cpt_relay::epoch::{PROCESSES_PER_START, claim};

use super::cloud::Cloud;
use super::quick;

const FIRST: u64 = PROCESSES_PER_START;
const SECOND: u64 = 2 * PROCESSES_PER_START;

/// The keys of one process.
fn keys(name: &str) -> impl Fn(u64) -> KeyRecord {
    let tls_public_key = name.to_owned();
    move |epoch| KeyRecord { epoch, tls_public_key: tls_public_key.clone(), route_public_key: None, address: None }
}

#[test]
fn a_process_that_is_started_again_claims_the_next_epoch_of_its_start() {
    let cloud = Cloud::start();
    let control = quick(&cloud);
    let claimed = ["one", "two", "three"].map(|name| claim(&control, Seat::SENDER, FIRST, keys(name)).unwrap());
    assert_eq!(claimed, [Some(FIRST), Some(FIRST + 1), Some(FIRST + 2)]);
    assert_eq!(control.key(Seat::SENDER).unwrap(), Some(keys("three")(FIRST + 2)));
}

#[test]
fn a_later_start_begins_at_its_own_epochs_and_shuts_the_earlier_one_out() {
    let cloud = Cloud::start();
    let control = quick(&cloud);
    claim(&control, Seat::RECEIVER, FIRST, keys("old")).unwrap();
    assert_eq!(claim(&control, Seat::RECEIVER, SECOND, keys("new")).unwrap(), Some(SECOND));
    assert_eq!(claim(&control, Seat::RECEIVER, FIRST, keys("old, back again")).unwrap(), None);
    assert_eq!(control.key(Seat::RECEIVER).unwrap(), Some(keys("new")(SECOND)));
}

#[test]
fn two_processes_that_claim_at_once_get_two_epochs() {
    let cloud = Cloud::start();
    let mut claimed: Vec<_> = std::thread::scope(|scope| {
        let claim = |name: String| claim(&quick(&cloud), Seat::SENDER, FIRST, keys(&name)).unwrap().unwrap();
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || claim(format!("process-{number}")))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    claimed.sort_unstable();
    assert_eq!(claimed, [FIRST, FIRST + 1, FIRST + 2, FIRST + 3]);
}
