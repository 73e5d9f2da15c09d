//! Nothing is read through a link that is exchanged, or whose target is, while it is listed or before it is sent.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::{CHUNK, fill, following, found, source};
use crate::harness::{Transfer, path};

/// A user who may write at the source exchanges what a link leads to, and the link, again and again, while root lists it.
#[test]
fn nothing_outside_is_listed_whoever_exchanges_a_link_or_what_it_leads_to_meanwhile() {
    const TRIES: u32 = 300;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fill(here, &["s/d/e/own", "s/l -> d/e", "s/f -> d/e/own", "secret/root-only", "secret/e/root-only", "secret/own", "out -> secret"]);
    symlink(here.join("secret"), here.join("out2")).unwrap();
    let (done, mut changed) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (one, other) in [("s/d", "out"), ("s/l", "out2"), ("s/d", "out"), ("s/l", "out2")] {
                    renameat_with(CWD, here.join(one), CWD, here.join(other), RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for _ in 0..TRIES {
            let found = found(here, &source(here, &["s/"], &json!({})));
            changed += u32::from(!found.left_out.is_empty());
            let secret = here.join("secret");
            let is_outside = |source: &String| source.starts_with(secret.to_str().unwrap()) || source.contains("out");
            if found.paths.iter().any(|path| path.contains("root-only")) || found.sources.iter().any(is_outside) {
                done.store(true, Ordering::Relaxed);
                panic!("{:?} {:?}", found.paths, found.sources);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(changed > 0, "no scan met what was exchanged");
}

#[test]
fn nothing_outside_is_sent_where_a_link_took_the_place_of_what_was_listed() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| fill(root, &["d/x", "l -> d/x", "y"]));
    transfer.selection = following();
    transfer.plan_again(CHUNK);
    let (source, secret) = (transfer.source(), transfer.directory.path().join("secret"));
    fs::create_dir(&secret).unwrap();
    fs::copy(source.join("d/x"), secret.join("x")).unwrap();
    let modified = source.join("d/x").metadata().unwrap().modified().unwrap();
    File::open(secret.join("x")).unwrap().set_modified(modified).unwrap();
    fs::rename(source.join("d"), transfer.directory.path().join("away")).unwrap();
    symlink(&secret, source.join("d")).unwrap();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sent = transfer.send(None).join();
    drop(receiver.join());
    let skipped = transfer.skipped().iter().map(|line| format!("{} {}", line["path"], line["reason"])).collect::<Vec<_>>();
    assert_eq!(skipped, ["\"d/x\" \"source-changed\"", "\"l\" \"source-changed\""], "{sent:?}");
    assert!(!transfer.destination().join("l").exists() && transfer.destination().join("y").exists());
}
