#![allow(clippy::unwrap_used)]

use super::*;

fn line(path: &str) -> String {
    format!(r#"{{"path":"{path}","kind":"file","size":1,"mode":420,"mtimeNs":1}}"#)
}

#[test]
fn what_is_lacking_of_the_plan_comes_again_and_what_was_found_equal_is_lost() {
    let mut found = Found::default();
    found.note(line("a").as_bytes(), Evidence::Planned(4), Verdict::Lacking("is gone".to_owned()));
    found.note(line("b").as_bytes(), Evidence::Neither, Verdict::Lacking("is gone too".to_owned()));
    found.note(line("c").as_bytes(), Evidence::LeftAlone, Verdict::AsPlaced);
    found.note(line("d").as_bytes(), Evidence::Planned(5), Verdict::Renewed(Placed { digest: [1; 32], version: None }));
    assert_eq!((found.lacking, found.lost), (BTreeSet::from([4]), 1));
    assert_eq!(found.named, ["a: is gone", "b: is gone too"]);
    assert_eq!(found.renewed.iter().map(|(entry, _)| *entry).collect::<Vec<_>>(), [5]);
}

#[test]
fn what_threads_find_is_put_together_and_named_up_to_a_number() {
    let here = |entries: std::ops::Range<u64>| {
        let mut found = Found::default();
        for entry in entries {
            found.note(line("f").as_bytes(), Evidence::Planned(entry), Verdict::Lacking(entry.to_string()));
        }
        found
    };
    let most = LOOK_NAMED as u64;
    let mut all = here(0..most - 1);
    all.join(here(most..2 * most));
    assert_eq!((all.lacking.len() as u64, all.named.len()), (2 * most - 1, LOOK_NAMED));
    assert_eq!(all.named.last().unwrap(), &format!("f: {most}"));
}
