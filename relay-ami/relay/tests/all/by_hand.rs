//! The program itself, as a person or an SSM script calls it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::harness::{noise, wait_for};

fn program(directory: &Path, arguments: &[&str]) -> Command {
    // At run time: sh, which `rustc-static` runs in, drops variables with a '-' in their names.
    let mut command = Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it"));
    command.current_dir(directory).args(arguments).env_remove("CPT_RATE_LIMITS").stdin(Stdio::null());
    command
}

pub fn run(directory: &Path, arguments: &[&str]) -> Output {
    program(directory, arguments).output().unwrap()
}

/// As the scripts of SSM documents call it, which keep their own files from everybody.
pub fn run_by_script(directory: &Path, arguments: &[&str]) -> Output {
    let program = program(directory, arguments);
    let mut script = Command::new("sh");
    script.args(["-c", r#"umask 077; exec "$0" "$@""#]).arg(program.get_program()).args(program.get_args());
    script.current_dir(directory).env_remove("CPT_RATE_LIMITS").stdin(Stdio::null()).output().unwrap()
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    program(directory, arguments).stderr(Stdio::null()).spawn().unwrap()
}

pub fn last_line(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = text.lines().last().unwrap_or_else(|| panic!("no output; errors: {}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(line).unwrap()
}

fn ended(mut child: Child) -> Option<i32> {
    wait_for("exit", || child.try_wait().unwrap()).code()
}

#[test]
fn a_transfer_through_a_pair_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir(here.join("source")).unwrap();
    std::fs::write(here.join("source/file"), noise(9, 3 << 20)).unwrap();
    assert_eq!(last_line(&run(here, &["plan", "--control-dir", "control", "--chunk-mib", "1", "source/"]))["chunks"], 3);
    let receiver =
        start(here, &["receive", "--control-dir", "control", "--listen", "127.0.0.1:0", "--ready", "receive.ready", "destination"]);
    assert_eq!(last_line(&run(here, &["await-ready", "receive.ready"]))["role"], "receive");
    let relays: Vec<(Child, String)> = ["near", "far"]
        .into_iter()
        .map(|name| {
            let ready = format!("{name}.ready");
            let relay = ["relay", "--control-dir", "control", "--listen", "127.0.0.1:0", "--ready", &ready];
            (start(here, &relay), ready)
        })
        .collect();
    // The relays learn the sender's key when it starts, the sender their addresses when it is told.
    let key = start(here, &["send", "--control-dir", "control", "--ready", "send.ready"]);
    let address = |ready: &str| last_line(&run(here, &["await-ready", ready]))["address"].as_str().unwrap().to_owned();
    let (near, far) = (address(&relays[0].1), address(&relays[1].1));
    let receiver_address = address("receive.ready");
    let hop = |node: &str, address: &str| format!(r#"{{"nodeId":"{node}","address":"{address}"}}"#);
    let path = format!(
        r#"{{"pathId":"pair-0","generation":0,"hops":[{},{}],"receiver":"{receiver_address}","lanes":1}}"#,
        hop("near", &near),
        hop("far", &far)
    );
    let membership = format!(r#"{{"schemaVersion":1,"version":0,"paths":[{path}],"probes":[]}}"#);
    std::fs::write(here.join("control/records/membership.json"), membership).unwrap();
    assert_eq!((ended(key), ended(receiver)), (Some(0), Some(0)));
    assert_eq!(std::fs::read(here.join("destination/file")).unwrap(), noise(9, 3 << 20));
    for (relay, _) in relays {
        let id = rustix::process::Pid::from_child(&relay);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert_eq!(ended(relay), Some(0), "a relay ends on SIGTERM");
    }
    let events = std::fs::read_to_string(here.join("control/events.ndjson")).unwrap();
    assert!(events.contains(r#""type":"Transfer Delivered""#), "{events}");
}

#[test]
fn a_transfer_that_leaves_a_file_out_says_which_and_why() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir(here.join("source")).unwrap();
    std::fs::write(here.join("source/gone soon"), b"x").unwrap();
    run(here, &["plan", "--control-dir", "control", "source"]);
    std::fs::remove_file(here.join("source/gone soon")).unwrap();
    let receiver = start(here, &["receive", "--control-dir", "control", "--listen", "127.0.0.1:0", "destination"]);
    let sent = run(here, &["send", "--control-dir", "control", "--direct", "--attempts", "1"]);
    assert_eq!((sent.status.code(), ended(receiver)), (Some(4), Some(0)));
    let errors = String::from_utf8(sent.stderr).unwrap();
    assert!(
        errors.contains("1 entry was left out") && errors.contains("source/gone%20soon") && errors.contains("No such file"),
        "{errors}"
    );
    let events = std::fs::read_to_string(here.join("control/events.ndjson")).unwrap();
    assert!(events.contains(r#""type":"Transfer Delivered""#) && events.contains(r#""skipped":1"#), "{events}");
}

#[test]
fn a_survey_counts_and_names_problems() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir_all(here.join("tree/below")).unwrap();
    std::fs::write(here.join("tree/file"), b"12345").unwrap();
    std::os::unix::fs::symlink("file", here.join("tree/link")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, here.join("tree/pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let survey = last_line(&run(here, &["scan", "tree", "no such"]));
    for (name, value) in [("files", 1), ("directories", 2), ("symlinks", 1), ("skipped", 1), ("bytes", 5), ("problemCount", 1)] {
        assert_eq!(survey[name], value, "{name} in {survey}");
    }
    assert_eq!(survey["problems"][0]["path"], format!("{}/no%20such", here.canonicalize().unwrap().display()));
    let command = format!(
        r#"{{"schemaVersion":1,"role":"scan","transferId":"t","side":"destination","end":{{"kind":"machine","path":"{}/not/yet"}}}}"#,
        here.canonicalize().unwrap().display()
    );
    std::fs::write(here.join("command.json"), command).unwrap();
    let survey = last_line(&run(here, &["scan", "--command", "command.json"]));
    assert!(survey["freeBytes"].as_u64().unwrap() > 0 && survey["problemCount"] == 0, "{survey}");
}

#[test]
fn probes_meet_or_say_why_not() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let alone = run(here, &["probe", "--connect", &free, "--seconds", "0.3"]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(last_line(&alone)["error"].as_str().unwrap().contains("refused"), "{}", last_line(&alone));
    let listener =
        program(here, &["probe", "--listen", &free, "--seconds", "20"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let connected = run(here, &["probe", "--connect", &free, "--seconds", "20"]);
    assert_eq!((connected.status.code(), &last_line(&connected)["reachable"]), (Some(0), &Value::Bool(true)));
    let listened = listener.wait_with_output().unwrap();
    assert_eq!((listened.status.code(), &last_line(&listened)["reachable"]), (Some(0), &Value::Bool(true)));
    let nobody = run(here, &["probe", "--listen", &free, "--seconds", "0.1"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(last_line(&nobody)["error"].as_str().unwrap().contains("nobody connected"));
}

#[test]
fn probes_of_one_port_take_turns() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let begin = |mode: &str| program(here, &["probe", mode, &port, "--seconds", "20"]).stdout(Stdio::piped()).spawn().unwrap();
    let listeners = [begin("--listen"), begin("--listen")];
    for probe in [begin("--connect"), begin("--connect")].into_iter().chain(listeners) {
        let ended = probe.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), &last_line(&ended)["reachable"]), (Some(0), &Value::Bool(true)), "{}", last_line(&ended));
    }
}

#[test]
fn a_wrong_call_names_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let errors = |arguments: &[&str]| {
        let output = run(here, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(errors(&["fly"]).contains("fly"));
    assert!(errors(&["send", "--lanes", "0", "--control-dir", "x"]).contains("--lanes is \"0\""));
    std::fs::write(here.join("command.json"), r#"{"schemaVersion":1,"role":"relay","transferId":"t"}"#).unwrap();
    assert!(errors(&["relay", "--command", "command.json"]).contains("senderRouteKey"));
    let command = include_str!("../../../../contracts/examples/good/relay-command/relay.json");
    std::fs::write(here.join("command.json"), command).unwrap();
    assert!(errors(&["relay", "--command", "command.json"]).contains("needs --machine"));
    assert!(errors(&["relay", "--command", "command.json", "--machine", "i-1"]).contains("--machine i-1: the command is for others"));
    let late = run(here, &["await-ready", "no such", "--seconds", "0"]);
    assert_eq!(late.status.code(), Some(1));
}

#[test]
fn an_end_that_cannot_have_its_memory_fails_at_once_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("file"), "content").unwrap();
    assert!(run(here, &["plan", "--control-dir", "control", "file"]).status.success());
    let program = std::env::var("CARGO_BIN_EXE_cpt-laboratory").unwrap();
    let ends: [&[&str]; 2] = [&["send", "--direct"], &["receive", "--listen", "127.0.0.1:0", "never"]];
    for end in ends {
        // The program's path may hold spaces.
        let limited = ["-c", "ulimit -v 150000; exec \"$0\" \"$@\"", &program];
        let arguments = limited.iter().chain(end).chain(&["--control-dir", "control"]);
        // A thread's first allocation asks for 128 MiB of address space, so that the next thread might not get its stack.
        let output = Command::new("sh").args(arguments).env("MALLOC_ARENA_MAX", "1").current_dir(here).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("NotEnoughMemory") && text.contains("64 lanes") && text.contains("address space"), "{text}");
    }
    assert!(!here.join("never").exists());
}

#[test]
fn a_process_that_may_not_open_enough_files_says_how_many_it_needs_and_a_low_soft_limit_is_raised() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("file"), "content").unwrap();
    assert!(run(here, &["plan", "--control-dir", "control", "file"]).status.success());
    let program = std::env::var("CARGO_BIN_EXE_cpt-laboratory").unwrap();
    let limited = |limit: &str, arguments: &[&str]| {
        let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, &program]).args(arguments).args(["--control-dir", "control"]).current_dir(here);
        command
    };
    let roles: [&[&str]; 3] =
        [&["send", "--direct"], &["receive", "--listen", "127.0.0.1:0", "never"], &["relay", "--listen", "127.0.0.1:0"]];
    for role in roles {
        let output = limited("-n 256", role).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(["TooFewOpenFiles", "open files", "LimitNOFILE="].iter().all(|part| text.contains(part)), "{text}");
    }
    assert!(!here.join("never").exists());
    let mut child = limited("-Sn 64", &["receive", "--listen", "127.0.0.1:0", "--ready", "ready", "destination"]).spawn().unwrap();
    assert!(run(here, &["await-ready", "ready"]).status.success());
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let files: Vec<&str> = limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split_whitespace().collect();
    assert_eq!(files[3], files[4], "soft and hard");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_plan_of_two_sources_for_one_path_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for source in ["a", "b"] {
        std::fs::create_dir(here.join(source)).unwrap();
        std::fs::write(here.join(source).join("x"), source).unwrap();
    }
    let refused = run(here, &["plan", "--control-dir", "control", "a/", "b/"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for word in ["SurveyProblem", "a/x", "b/x", "both land as \"x\""] {
        assert!(said.contains(word), "{said}");
    }
    assert!(!here.join("control/plan.json").exists());
}

#[test]
fn a_receiver_whose_destination_was_taken_away_says_so_instead_of_waiting() {
    for taken in ["destination/.cpt-partial-local", "destination"] {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        std::fs::write(here.join("file"), "content").unwrap();
        assert!(run(here, &["plan", "--control-dir", "control", "file"]).status.success());
        let arguments = ["receive", "--control-dir", "control", "--listen", "127.0.0.1:0", "--ready", "ready", "destination"];
        let receiver = program(here, &arguments).stderr(Stdio::piped()).spawn().unwrap();
        last_line(&run(here, &["await-ready", "ready"]));
        // Its first report comes once the destination is open.
        wait_for("the receiver's report", || here.join("control/records/progress-r0.json").exists().then_some(()));
        std::fs::remove_dir_all(here.join(taken)).unwrap();
        let output = receiver.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("DestinationError") && text.contains(".cpt-partial-local was removed"), "{taken}: {text}");
    }
}
