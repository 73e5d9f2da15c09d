use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::*;
use crate::source::fake::Fake;
use cpt_ends::above::order;

fn given(keys: &Fake, most_ready: usize) -> Vec<String> {
    let pool = Pool::none(keys);
    let mut ordered = Ordered::looking_ahead(&pool, "", most_ready);
    let mut given = Vec::new();
    while let Some(object) = ordered.take().unwrap() {
        given.push(object.key);
    }
    given
}

/// Numbers that look drawn and are the same each time.
struct Drawn(Cell<u64>);

impl Drawn {
    fn below(&self, most: usize) -> usize {
        self.0.set(self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        usize::try_from(self.0.get() >> 33).unwrap() % most
    }
}

fn drawn_keys(drawn: &Drawn) -> Vec<String> {
    const PARTS: [&str; 9] = ["a", "b", "!", ".", "-", "/", "/", "0", "é"];
    let count = 1 + drawn.below(60);
    (0..count).map(|_| (0..=drawn.below(9)).map(|_| PARTS[drawn.below(PARTS.len())]).collect()).collect()
}

#[test]
fn keys_of_any_kind_come_in_the_order_of_a_walk_whatever_the_size_of_pages() {
    let drawn = Drawn(Cell::new(1));
    for _ in 0..1500 {
        let keys = Fake::new(drawn_keys(&drawn), 1 + drawn.below(6));
        let mut sorted = keys.keys.clone();
        sorted.sort_by(|one, other| order(one.as_bytes(), other.as_bytes()));
        assert_eq!(given(&keys, 1 + drawn.below(8)), sorted, "{} a page", keys.page);
    }
}

#[test]
fn what_is_passed_is_left_out_and_everything_else_comes() {
    let drawn = Drawn(Cell::new(2));
    for _ in 0..700 {
        let keys = Fake::new(drawn_keys(&drawn), 1 + drawn.below(6));
        let mut sorted = keys.keys.clone();
        sorted.sort_by(|one, other| order(one.as_bytes(), other.as_bytes()));
        let pool = Pool::none(&keys);
        let (mut ordered, mut given) = (Ordered::looking_ahead(&pool, "", 1 + drawn.below(8)), Vec::new());
        let mut left_out: Vec<String> = Vec::new();
        while let Some(object) = ordered.take().unwrap() {
            assert!(!left_out.iter().any(|prefix| object.key.starts_with(prefix)), "{left_out:?} {}", object.key);
            if drawn.below(2) == 0 {
                ordered.peek(drawn.below(3)).unwrap();
            }
            if let Some(at) = object.key.rfind('/').filter(|_| drawn.below(3) == 0) {
                left_out.push(object.key[..=at].to_owned());
                ordered.pass(&object.key[..=at]);
            }
            given.push(object.key);
        }
        sorted.retain(|key| given.contains(key) || !left_out.iter().any(|prefix| key.starts_with(prefix)));
        assert_eq!(given, sorted);
    }
}

/// A page is asked for once, and for a thousand names like those of logs hardly anything else is asked.
#[test]
fn a_flat_listing_of_names_with_hyphens_costs_its_pages() {
    let name = |number: u64| {
        let hash = blake3::hash(&number.to_be_bytes()).to_hex();
        format!("log-{}-{}-{}.gz", &hash[..8], &hash[8..12], &hash[12..16])
    };
    let keys = Fake::new((0..50_000).map(name).collect(), 1000);
    assert_eq!(given(&keys, MOST_READY).len(), 50_000);
    let asked = keys.asked.load(Ordering::SeqCst);
    assert!(asked <= 52, "{asked} requests for 50 pages");
}

/// A directory of many beside a file of a lesser name: both are listed once.
#[test]
fn a_large_directory_beside_a_name_that_comes_before_it_is_listed_once() {
    let before = (0..5000).map(|number| format!("a-{number:05}"));
    let inside = (0..20_000).map(|number| format!("a/{number:05}"));
    let keys = Fake::new(before.chain(inside).collect(), 1000);
    let given = given(&keys, MOST_READY);
    assert_eq!((&*given[0], &*given[20_000], given.len()), ("a/00000", "a-00000", 25_000));
    let asked = keys.asked.load(Ordering::SeqCst);
    assert!(asked <= 28, "{asked} requests for 25 pages");
}

#[test]
fn directories_within_each_other_hold_a_few_keys_each() {
    let mut keys = Vec::new();
    let mut path = String::new();
    for depth in 0..40 {
        keys.extend((0..30).map(|number| format!("{path}d-{number:03}")));
        path.push_str("d/");
        keys.push(format!("{path}x{depth}"));
    }
    let keys = Fake::new(keys, 5);
    let mut sorted = keys.keys.clone();
    sorted.sort_by(|one, other| order(one.as_bytes(), other.as_bytes()));
    let pool = Pool::none(&keys);
    let (mut ordered, mut given, mut most) = (Ordered::looking_ahead(&pool, "", 10), Vec::new(), 0);
    while let Some(object) = ordered.take().unwrap() {
        given.push(object.key);
        most = most.max(ordered.levels.iter().map(|level| level.ready.len()).sum());
    }
    assert_eq!(given, sorted);
    assert!(most <= (DEEP + 1) * 15, "{most} keys at once");
}
