use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use crate::source::fake::Fake;

/// The so-many-th name.
type Name = fn(u64) -> String;

fn all(keys: &Fake, threads: usize) -> Vec<String> {
    std::thread::scope(|scope| {
        let pool = Pool::begin(keys, scope, threads);
        let (mut ranges, mut found) = (Ranges::new("k/", String::new()), Vec::new());
        while let Some(objects) = ranges.next(&pool).unwrap() {
            found.extend(objects.into_iter().map(|object| object.key));
        }
        found
    })
}

fn keys(of: impl Fn(u64) -> String) -> Fake {
    let all = (0..20_000).map(|number| format!("k/{}", of(number))).chain(["j".to_owned(), "l".to_owned()]);
    Fake::new(all.collect(), 100).waiting(Duration::from_millis(1))
}

fn hash(number: u64) -> String {
    blake3::hash(&number.to_be_bytes()).to_hex().to_string()
}

/// Names of each kind are listed whole and in order. Wrong guesses cost less than a third more requests, or less than as many again where
/// names lie in groups of a few pages, far apart.
#[test]
fn many_listers_give_what_one_gives() {
    let of: [(&str, Name, usize); 5] = [
        ("numbers", |number| format!("{number:08}"), 270),
        ("numbers without zeros", |number| number.to_string(), 270),
        ("hashes", hash, 270),
        ("skewed", |number| if number % 10 == 0 { hash(number) } else { format!("7e/{number:012}/part") }, 290),
        ("years", |number| format!("{}/{:02}/{}", 1990 + number % 30, number % 12, &hash(number)[..10]), 400),
    ];
    for (name, of, most) in of {
        let fake = keys(of);
        let found = all(&fake, 8);
        let expected: Vec<_> = fake.keys.iter().filter(|key| key.starts_with("k/")).cloned().collect();
        assert_eq!(found.len(), expected.len(), "{name}");
        assert!(found == expected, "{name}");
        let asked = fake.asked.load(Ordering::SeqCst);
        println!("{name}: {asked} requests for 200 pages");
        assert!(asked < most, "{name}: {asked} requests for 200 pages");
    }
}

#[test]
fn what_is_passed_is_not_given_and_what_comes_after_it_is() {
    let fake = keys(|number| format!("{number:08}"));
    std::thread::scope(|scope| {
        let pool = Pool::begin(&fake, scope, 8);
        let mut ranges = Ranges::new("k/", String::new());
        ranges.next(&pool).unwrap().unwrap();
        for (after, next) in [("k/00000500x", "k/00000501"), ("k/00015", "k/00015000"), ("k/00019998", "k/00019999")] {
            ranges.pass(after);
            assert_eq!(ranges.next(&pool).unwrap().unwrap()[0].key, next);
        }
        ranges.pass("k/1");
        assert_eq!(ranges.next(&pool).unwrap(), None);
    });
}

/// However far ahead the listers might be, they wait for whoever takes what they bring.
#[test]
fn what_waits_is_bounded() {
    let fake = Fake::new((0..400_000).map(|number| format!("k/{number:08}")).collect(), 1000);
    std::thread::scope(|scope| {
        let pool = Pool::begin(&fake, scope, 4);
        let (mut ranges, mut most, mut count) = (Ranges::new("k/", String::new()), 0, 0);
        while let Some(objects) = ranges.next(&pool).unwrap() {
            count += objects.len();
            most = most.max(ranges.waiting);
        }
        assert_eq!((count, ranges.waiting), (400_000, 0));
        assert!(most <= 4 * KEYS_AHEAD + 4 * 1000, "{most} keys wait");
    });
}
