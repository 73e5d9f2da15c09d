//! Whoever is told to stop stops, whatever call hangs.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpt_relay::control::{Control as _, ControlError};
use cpt_relay::stop::Stop;
use serde_json::{Value, json};

use super::cloud::{Cloud, Fault, QUICK};
use super::{client, delivery};
use crate::harness::{Transfer, wait_for};

/// Between SIGTERM and exit, as `docs/design/014-trouble-of-a-second.md` promises.
const LONGEST: Duration = Duration::from_secs(10);

fn silent() -> Cloud {
    let cloud = Cloud::start();
    for operation in ["GetItem", "UpdateItem", "Query", "BatchGetItem", "GetObject", "PutObject", "PutEvents"] {
        cloud.spoil(operation, "", 1_000_000, Fault::Silence);
    }
    cloud
}

#[test]
fn questions_end_with_the_stop_and_last_words_a_moment_later() {
    let (cloud, transfer) = (silent(), Transfer::plan(64 << 10, None, |root| std::fs::write(root.join("file"), "1").unwrap()));
    let times = cpt_control_aws::clients::Times { report_attempt: LONGEST, report_call: LONGEST, attempt: LONGEST, call: LONGEST, ..QUICK };
    let within = |least: Duration, most: Duration, call: &dyn Fn(&cpt_control_aws::aws::Aws) -> Result<(), ControlError>| {
        let stop = Stop::new().unwrap();
        let control = client(&cloud, &stop, times);
        let (told, start) = (stop.clone(), Instant::now());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            told.request();
        });
        assert!(call(&control).is_err());
        let took = start.elapsed();
        assert!(least <= took && took < most, "{took:?}");
    };
    let seconds = Duration::from_secs;
    within(Duration::ZERO, seconds(2), &|control| control.fenced().map(drop));
    within(Duration::ZERO, seconds(2), &|control| control.read_object("plan.json", None).map(drop));
    let delivery = delivery(&transfer.chunks()[0], 'a');
    let words = Duration::from_millis(300) + QUICK.last_words;
    within(words, words + seconds(2), &|control| control.deliver(std::slice::from_ref(&delivery)).map(drop));
}

/// The program with a command, and services at `cloud` alone.
fn start(folder: &Path, cloud: &Cloud, name: &str, change: impl FnOnce(&mut Value)) -> Child {
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../contracts/examples/good/relay-command").join(format!("{name}.json"));
    let mut command: Value = serde_json::from_slice(&std::fs::read(good).unwrap()).unwrap();
    change(&mut command);
    let (file, role) = (folder.join("command.json"), command["role"].as_str().unwrap());
    std::fs::write(&file, command.to_string()).unwrap();
    Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it"))
        .arg(role)
        .arg("--command")
        .arg(&file)
        .env_clear()
        .env("AWS_ENDPOINT_URL", &cloud.endpoint)
        .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &cloud.endpoint)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn ends_and_scans_obey_sigterm_while_their_calls_hang() {
    let (folder, cloud) = (tempfile::tempdir().unwrap(), silent());
    let source = folder.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("file"), "1").unwrap();
    for (name, signal) in [("receive", None), ("send", None), ("scan-source", Some(15)), ("scan-digests", Some(15))] {
        let calls = cloud.left();
        let mut child = start(folder.path(), &cloud, name, |command| {
            if command["end"].get("paths").is_some() {
                command["end"]["paths"] = json!([source]);
            }
        });
        wait_for("a call", || (cloud.left() != calls).then_some(()));
        assert_eq!(child.try_wait().unwrap(), None, "{name}");
        let told = Instant::now();
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
        let status = wait_for(name, || child.try_wait().unwrap());
        assert!(told.elapsed() < LONGEST, "{name}: {:?}", told.elapsed());
        assert_eq!((status.signal(), status.code()), (signal, signal.is_none().then_some(0)), "{name}");
    }
}
