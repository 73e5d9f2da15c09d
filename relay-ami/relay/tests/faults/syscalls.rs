//! The program itself, whose system calls fail: by `strace`, which tampers with them, and on a disk that is really full.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::harness::{noise, wait_for};
use crate::tally::{Count, Run};

/// Errors of the receiver's calls on its tree; `when` in the form of strace, which counts by thread: the sync at the
/// end, which a thread of its own asks for, must pass once.
const ERRORS: [(&str, &str, &str, &str); 8] = [
    ("syncfs", "EIO", "2+3", "Input/output error"),
    ("syncfs", "ENOSPC", "3+4", "No space left"),
    ("renameat", "EIO", "2+13", "Input/output error"),
    ("renameat", "ENOSPC", "1+11", "No space left"),
    ("fallocate", "ENOSPC", "1+2", "No space left"),
    ("fchmod", "EIO", "3+29", "Input/output error"),
    ("mkdirat", "ENOSPC", "3+3", "No space left"),
    ("symlinkat", "EIO", "1+2", "Input/output error"),
];

pub fn run(run: &Run<'_>) {
    if works(Command::new("strace").args(["-f", "-o", "/dev/null", "-e", "trace=none", "true"])) {
        for some in ERRORS.chunks(4) {
            std::thread::scope(|scope| some.iter().for_each(|error| drop(scope.spawn(move || one(run, error)))));
        }
        checkpoint_after_sync();
        each_file_is_synced();
        std::thread::scope(|scope| {
            // The first two of the main thread find out whether modes are kept.
            for (call, when) in [("fchmod", "3"), ("syncfs", "2")] {
                scope.spawn(move || hung_file_system(call, when));
            }
        });
    } else {
        cpt_skipped::skipped(&format!("strace is not installed or may not trace; the errors of {} calls were not tried", ERRORS.len()));
    }
    if works(Command::new("unshare").args(["--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"])) {
        let sizes: Vec<u32> = (0..6).map(|step| 600 + 700 * step).collect();
        std::thread::scope(|scope| sizes.iter().for_each(|kib| drop(scope.spawn(move || full(run, *kib)))));
        std::thread::scope(|scope| [true, false].into_iter().for_each(|room| drop(scope.spawn(move || large_and_full(run, room)))));
    } else {
        cpt_skipped::skipped("no file system may be mounted here; a full disk was not tried");
    }
}

fn works(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A transfer by hand in a folder of its own.
struct Hand {
    folder: tempfile::TempDir,
}

impl Hand {
    fn plan() -> Self {
        Self::of(Self::fill)
    }

    fn of(fill: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::create_dir(&source).unwrap();
        fill(&source);
        let hand = Self { folder };
        assert!(
            hand.program("plan").args(["--chunk-mib", "1", "--lanes", "2", "source/"]).stdout(Stdio::null()).status().unwrap().success()
        );
        hand
    }

    fn fill(source: &Path) {
        for directory in 0..6u64 {
            let place = source.join(format!("d{directory}/below"));
            std::fs::create_dir_all(&place).unwrap();
            for file in 0..4 {
                // Four fill a bundle, with the link that comes after them.
                std::fs::write(place.join(format!("file-{file}")), noise(directory + file, 260_000)).unwrap();
            }
            std::fs::write(place.join("large"), noise(directory, (1 << 20) + 12_345)).unwrap();
            std::os::unix::fs::symlink("large", place.join("link")).unwrap();
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Behind `wrapper`, the program with its first arguments.
    fn wrapped(&self, wrapper: &[&str], role: &str) -> Command {
        // At run time: sh, which `rustc-static` runs in, drops variables with a '-' in their names.
        let program = std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it");
        let mut command = match wrapper {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.current_dir(self.folder.path()).args([role, "--control-dir", "control"]).env_remove("CPT_RATE_LIMITS").stdin(Stdio::null());
        command
    }

    fn program(&self, role: &str) -> Command {
        self.wrapped(&[], role)
    }

    fn receive(&self, wrapper: &[&str]) -> Child {
        let log = std::fs::File::create(self.path("receiver.log")).unwrap();
        // Under strace the file system seems far; its faults are counted by thread.
        let arguments = ["--listen", "127.0.0.1:0", "--ready", "ready", "--placing-threads", "1", "destination"];
        self.wrapped(wrapper, "receive").args(arguments).stderr(log).spawn().unwrap()
    }

    /// A sender that waits `patience` seconds for a destination that takes nothing.
    fn sender(&self, attempts: &str, patience: &str) -> Command {
        wait_for("receiver", || self.is_ready().then_some(()));
        let mut command = self.program("send");
        command.args(["--direct", "--attempts", attempts, "--patience", patience]);
        command
    }

    fn is_ready(&self) -> bool {
        std::fs::read(self.path("ready")).is_ok_and(|text| text.ends_with(b"\n"))
    }

    fn send(&self, attempts: &str, patience: &str) -> (ExitStatus, String) {
        let sent = self.sender(attempts, patience).output().unwrap();
        (sent.status, String::from_utf8(sent.stderr).unwrap())
    }

    /// The directory of the link that is in a chunk, by the chunk's key.
    fn links(&self) -> HashMap<String, String> {
        let manifest = self.text("control/manifest/part-00000.ndjson");
        let link = |key: &str| {
            let chunk: serde_json::Value = serde_json::from_str(&self.text(&format!("control/chunks/{key}"))).unwrap();
            let at = |name: &str| usize::try_from(chunk[name].as_u64().unwrap()).unwrap();
            let (before, _) = manifest[at("manifestStart")..at("manifestEnd")].split_once("/link\"")?;
            Some((key.strip_suffix(".json")?.to_owned(), before.rsplit('"').next()?.to_owned()))
        };
        names(&self.path("control/chunks")).iter().filter_map(|key| link(key)).collect()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(name)).unwrap()).into_owned()
    }
}

fn ended(mut child: Child) -> ExitStatus {
    wait_for("end of the receiver", || child.try_wait().unwrap())
}

/// Relative paths of all that lies below.
fn names(root: &Path) -> Vec<String> {
    let (mut found, mut stack) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(directory) = stack.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                stack.push(path.clone());
            }
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
    found.sort_unstable();
    found
}

fn same(one: &Path, other: &Path) -> bool {
    match (std::fs::read_link(one), std::fs::read_link(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => one.is_dir() && other.is_dir() || std::fs::read(one).unwrap() == std::fs::read(other).unwrap(),
        _ => false,
    }
}

fn one(run: &Run<'_>, (call, error, when, words): &(&str, &str, &str, &str)) {
    let hand = Hand::plan();
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}:when={when}"));
    let receiver = hand.receive(&["strace", "-f", "-o", "calls", "-e", &trace, "-e", &inject]);
    // A probe after half a second.
    let (status, errors) = hand.send("30", "6");
    assert!(status.success(), "{call}: {errors}");
    assert!(ended(receiver).success(), "{call}: {}", hand.text("receiver.log"));
    assert_eq!(names(&hand.path("source")), names(&hand.path("destination")), "{call}");
    assert!(names(&hand.path("source")).iter().all(|name| same(&hand.path("source").join(name), &hand.path("destination").join(name))));
    let injected = hand.text("calls").matches("(INJECTED)").count();
    let refused = hand.text("receiver.log").lines().filter(|line| line.contains("chunk refused") && line.contains(words)).count();
    // A sync that fails refuses all that it was for; any other call is one chunk's.
    let detected = refused.min(injected);
    let kind = format!("program: {call} fails with {error}");
    run.tally.add(&kind, Count { planned: injected.max(1), injected, detected, repaired: injected, reported: 0 });
}

/// A link has gone to its place before the journal that tells of it is synced, and that is synced before its chunk is DELIVERED.
fn checkpoint_after_sync() {
    let hand = Hand::plan();
    let traced = "trace=syncfs,fdatasync,rename,renameat,renameat2";
    let receiver = hand.receive(&["strace", "-f", "-y", "-s", "256", "-o", "calls", "-e", traced]);
    assert!(hand.send("2", "6").0.success());
    assert!(ended(receiver).success());
    let (calls, mut links) = (hand.text("calls"), hand.links());
    assert_eq!(links.len(), 6, "{links:?}");
    let (mut under_way, mut syncing) = (HashMap::new(), HashMap::new());
    let (mut placed, mut synced) = (HashSet::new(), HashSet::new());
    for line in calls.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        // Of two calls at a time both are cut into a line that begins and one that ends.
        let (begins, ends) = (!call.trim_start().starts_with("<..."), !call.ends_with("<unfinished ...>"));
        let begun = if begins { call } else { under_way.remove(thread).unwrap() };
        if !ends {
            under_way.insert(thread, begun);
        }
        if begun.contains("fdatasync(") {
            if begins {
                syncing.insert(thread, placed.clone());
            }
            if call.ends_with("= 0") {
                synced.extend(syncing.remove(thread).unwrap());
            }
        } else if let Some((place, _)) = begun.split_once(">, \"link\"").filter(|_| ends) {
            placed.insert(place.rsplit_once("/destination/").unwrap().1);
        } else if let Some((_, chunk)) = begun.split_once("\"control/chunks/").filter(|_| begins) {
            // Other chunks' links may be placed meanwhile.
            let link = links.remove(chunk.split('.').next().unwrap());
            assert!(link.is_none_or(|place| synced.contains(place.as_str())), "{begun} before a sync: {calls}");
        }
    }
    assert!(links.is_empty(), "{links:?} were not delivered: {calls}");
}

/// Where a program serves the file system, which learns nothing of `syncfs`, each file is synced before it goes to its place, and each
/// directory at the end.
fn each_file_is_synced() {
    let hand = Hand::plan();
    // The kernel's answer, with `FUSE_SUPER_MAGIC` in place of the type.
    let served = "inject=fstatfs:poke_exit=@arg2=4655736500000000";
    let receiver = hand.receive(&["strace", "-f", "-y", "-s", "256", "-o", "calls", "-e", "trace=fstatfs,fsync,linkat", "-e", served]);
    let (status, errors) = hand.send("2", "6");
    assert!(status.success(), "{errors}");
    assert!(ended(receiver).success());
    let calls = hand.text("calls");
    let destination = hand.path("destination").canonicalize().unwrap();
    let (mut synced, mut moved) = (Vec::new(), 0);
    for call in calls.lines() {
        // Of two calls at a time both are cut into a line that begins and one that ends.
        if let Some((_, place)) = call.split_once("fsync(") {
            synced.push(place.split(['<', '>']).nth(1).unwrap().to_owned());
        } else if let Some((_, partial)) = call.split_once("linkat(").and_then(|(_, from)| from.split_once("/.cpt-partial-local/")) {
            let partial = partial.replacen(">, \"", "/", 1);
            let partial = destination.join(".cpt-partial-local").join(partial.split('"').next().unwrap()).display().to_string();
            moved += 1;
            assert!(call.contains("\"link\"") || synced.contains(&partial), "{call} before a sync of {partial}");
        }
    }
    assert!(moved > 6, "{calls}");
    for name in names(&hand.path("destination")).iter().filter(|name| hand.path("destination").join(name).is_dir()) {
        // Its own name is in the one above.
        let above = destination.join(name).parent().unwrap().display().to_string();
        assert!(synced.contains(&above), "{above} was not synced: {calls}");
    }
}

/// A call of the file system hangs, in a lane or in a sync: the report says so and does not grow, and SIGTERM is obeyed all the same.
fn hung_file_system(call: &str, when: &str) {
    let hand = Hand::plan();
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:delay_enter=600000000:when={when}+"));
    let strace = Killed(hand.receive(&["strace", "-f", "-o", "calls", "-e", &trace, "-e", &inject]));
    wait_for("receiver", || hand.is_ready().then_some(()));
    let receiver = tracee(strace.0.id());
    let _sender = Killed(hand.program("send").args(["--direct", "--attempts", "2"]).stderr(Stdio::null()).spawn().unwrap());
    let report = || serde_json::from_slice::<serde_json::Value>(&std::fs::read(hand.path("control/records/progress-r0.json")).ok()?).ok();
    let hangs = || report().filter(|report| report["inFileSystemSeconds"].as_f64().is_some_and(|seconds| seconds >= 5.0));
    let first = wait_for(&format!("report of a hanging {call}"), hangs);
    let later = wait_for(&format!("second report of a hanging {call}"), || hangs().filter(|report| report["at"] != first["at"]));
    assert_eq!(first["sequence"], later["sequence"], "{call}: this end waits for nobody else");
    assert!(later["inFileSystemSeconds"].as_f64() > first["inFileSystemSeconds"].as_f64(), "{call}");
    let told = std::time::Instant::now();
    rustix::process::kill_process(receiver, rustix::process::Signal::TERM).unwrap();
    // Gone, or a zombie that strace takes note of once its delay is over.
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", receiver.as_raw_nonzero()));
    wait_for("end of the receiver", || state().map_or(true, |stat| stat.contains(") Z ")).then_some(()));
    assert!(told.elapsed() < std::time::Duration::from_secs(11), "{call}: SIGTERM was obeyed after {:?}", told.elapsed());
}

/// A program that a test which fails leaves no more than one that passes.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// The process that strace has started.
fn tracee(strace: u32) -> rustix::process::Pid {
    let children = std::fs::read_to_string(format!("/proc/{strace}/task/{strace}/children")).unwrap();
    rustix::process::Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

/// A file system that lives as long as its receiver; what it held is copied at the end. With a file `room` it gets larger: `none` is
/// named, since without it `mount` repeats the options of the first time, of which an ordinary user's owner is no one in its namespace.
fn mounted(kib: u32) -> String {
    format!(
        "mount -t tmpfs -o size={kib}k none destination && \
         {{ (while [ ! -e room ]; do sleep 0.1; done; mount -o remount,size=400m none destination) & \"$@\"; code=$?; \
         cp -a destination arrived; touch room; wait; exit $code; }}"
    )
}

fn receive_in(hand: &Hand, kib: u32) -> Child {
    std::fs::create_dir(hand.path("destination")).unwrap();
    hand.receive(&["unshare", "--mount", "--map-root-user", "sh", "-c", &mounted(kib), "sh"])
}

/// A destination without room fails after the time that it is waited for, by its name, and burns no attempts.
fn full(run: &Run<'_>, kib: u32) {
    let hand = Hand::plan();
    let receiver = receive_in(&hand, kib);
    let (status, errors) = hand.send("1", "1");
    assert_eq!(status.code(), Some(1), "{kib} KiB: {errors}");
    assert!(errors.contains("DestinationFull: the destination took nothing for") && errors.contains("No space left"), "{kib}: {errors}");
    stop(&hand, receiver);
    let arrived = names(&hand.path("arrived"));
    let named: Vec<&String> = arrived.iter().filter(|name| !name.starts_with(".cpt-partial")).collect();
    assert!(named.iter().all(|name| same(&hand.path("source").join(name), &hand.path("arrived").join(name))), "{kib} KiB: {named:?}");
    let refused = hand.text("receiver.log").lines().any(|line| line.contains("destination-full") && line.contains("No space left"));
    let missing = usize::from(named.len() < names(&hand.path("source")).len());
    let count = Count { planned: 1, injected: missing, detected: usize::from(refused), repaired: 0, reported: missing };
    run.tally.add("program: disk full", count);
}

/// 160 MiB into 16 MiB of room: what is sent for nothing is bounded, nothing arrives wrong, and with room all arrives.
fn large_and_full(run: &Run<'_>, with_room: bool) {
    const MIB: u64 = 1 << 20;
    let hand = Hand::of(|source| {
        for number in 0..160u64 {
            std::fs::write(source.join(format!("file-{number}")), noise(number, MIB as usize)).unwrap();
        }
    });
    let receiver = receive_in(&hand, 16 << 10);
    let mut send = hand.sender("1", if with_room { "120" } else { "3" }).spawn().unwrap();
    wait_for("a refusal", || hand.text("receiver.log").contains("destination-full").then_some(()));
    if with_room {
        std::fs::write(hand.path("room"), b"").unwrap();
    }
    let status = wait_for("end of the sender", || send.try_wait().unwrap());
    assert_eq!(status.success(), with_room);
    let moved = serde_json::from_str::<serde_json::Value>(&hand.text("control/records/progress-s0.json")).unwrap()["movedBytes"].as_u64();
    let moved = moved.unwrap() / MIB;
    println!("faults: 160 MiB into 16 MiB of room{}: {moved} MiB were sent", if with_room { ", then 400" } else { "" });
    if with_room {
        assert!(ended(receiver).success(), "{}", hand.text("receiver.log"));
        assert_eq!(names(&hand.path("source")), names(&hand.path("arrived")));
    } else {
        stop(&hand, receiver);
    }
    // 16 MiB of room, 12 probes of a chunk of 1 MiB, and what two lanes had under way: a window of 64 chunks each at most, of which the
    // socket's buffers and one batch of the receiver hold some 20.
    assert!(moved <= if with_room { 160 + 48 } else { 16 + 12 + 36 }, "{moved} MiB were sent");
    run.tally.add(
        "program: disk full, large",
        Count { planned: 1, injected: 1, detected: 1, repaired: usize::from(with_room), reported: usize::from(!with_room) },
    );
}

/// Ends a receiver whose sender has given up, as the control plane does: by its record.
fn stop(hand: &Hand, receiver: Child) {
    std::fs::write(hand.path("control/records/transfer.json"), br#"{"fenced": true}"#).unwrap();
    ended(receiver);
}
