//! A real Hadoop with Kerberos: what a client does by a delegation token of Hadoop's own `hdfs fetchdt`, however bytes are guarded, and what
//! is refused. Each test has a cluster of its own, so they run where everything does (`CPT_CHAOS=full`).

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::cluster::{Cluster, HeldToken};
use crate::source::{Asked, HdfsSource};
use crate::token::Token;
use bytes::Bytes;
use cpt_ends::Source as _;
use hdfs_native::WriteOptions;

/// What `python -m local.hadoop` says where this machine has no Hadoop, or no KDC.
const MISSING: i32 = 3;
const USER: &str = "etl";
/// Three blocks, of which the last one is smaller.
const LENGTH: usize = (2 << 20) + 12_345;

struct Hadoop {
    folder: tempfile::TempDir,
    configuration: PathBuf,
    program: PathBuf,
    keys: serde_json::Value,
    /// The cluster ends when this is closed.
    input: Option<ChildStdin>,
    process: Child,
}

impl Hadoop {
    /// A cluster whose bytes are guarded so; none where this machine has none, or is not to run everything.
    fn new(guard: &[&str]) -> Option<Self> {
        if std::env::var_os("CPT_CHAOS").is_none_or(|extent| extent != "full") {
            cpt_skipped::skipped("clusters with Kerberos are started by make chaos");
            return None;
        }
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let mut process = Command::new(checkout.join(".venv/bin/python"))
            .args(["-m", "local.hadoop", "--data-nodes", "1", "--replication", "1"])
            .args(guard)
            .current_dir(&checkout)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            assert_eq!(process.wait().unwrap().code(), Some(MISSING), "the cluster did not start; see above");
            cpt_skipped::skipped("there is no Java that Hadoop runs on, or no krb5kdc: Kerberos is tested with both");
            return None;
        }
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let path = |name: &str| PathBuf::from(told[name].as_str().unwrap());
        let hadoop = Self {
            folder: tempfile::tempdir().unwrap(),
            configuration: path("conf"),
            program: path("hdfs"),
            keys: told["keys"].clone(),
            input: process.stdin.take(),
            process,
        };
        hadoop.run("hdfs/cluster", &["dfs", "-mkdir", "/test"]);
        hadoop.run("hdfs/cluster", &["dfs", "-chmod", "777", "/test"]);
        Some(hadoop)
    }

    /// Hadoop's own program as a user.
    fn run(&self, user: &str, words: &[&str]) {
        let mut program = Command::new(&self.program);
        program.args(words).env("KRB5PRINCIPAL", format!("{user}@CPT.TEST")).env("KRB5KEYTAB", self.keys[user].as_str().unwrap());
        let done = program.output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn token(&self, user: &str) -> Token {
        let file = self.folder.path().join(user);
        self.run(user, &["fetchdt", "--renewer", user, file.to_str().unwrap()]);
        Token::parse(&fs::read(file).unwrap()).unwrap()
    }

    /// A configuration that differs from the cluster's.
    fn otherwise(&self, what: &str, instead: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["core-site.xml", "hdfs-site.xml"] {
            let text = fs::read_to_string(self.configuration.join(name)).unwrap();
            fs::write(folder.path().join(name), text.replace(what, instead)).unwrap();
        }
        folder
    }
}

impl Drop for Hadoop {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

fn source(cluster: Cluster) -> HdfsSource {
    HdfsSource::new(cluster, vec![Asked { path: "/test/".to_owned(), lands_as: None }])
}

fn bytes() -> Vec<u8> {
    (0..LENGTH).map(|number| (number * number / 251 % 256) as u8).collect()
}

/// Writes a file by the token and reads it by a source.
fn check_bytes(hadoop: &Hadoop) {
    let held = HeldToken::new(hadoop.token(USER));
    let cluster = Cluster::of(&hadoop.configuration, USER, Some(&held)).unwrap();
    cluster.wait(async {
        let mut file = cluster.client().create("/test/file", WriteOptions::default()).await.unwrap();
        file.write_bytes(Bytes::from(bytes())).await.unwrap();
        file.close().await.unwrap();
    });
    assert_eq!(source(cluster.clone()).digest(b"/test/file").unwrap(), *blake3::hash(&bytes()).as_bytes());
    // Hadoop's own client finds the same.
    let got = hadoop.folder.path().join("got");
    hadoop.run(USER, &["dfs", "-get", "/test/file", got.to_str().unwrap()]);
    assert!(fs::read(got).unwrap() == bytes());
}

#[test]
fn bytes_come_and_go_where_whoever_comes_is_asked_and_what_is_wrong_is_refused() {
    let Some(hadoop) = Hadoop::new(&["--guard", "authentication:authentication"]) else { return };
    check_bytes(&hadoop);
    let token = hadoop.token(USER);
    let held = HeldToken::new(token.clone());
    let refused = |configuration: &Path, user: &str, token: Option<&HeldToken>| match Cluster::of(configuration, user, token) {
        Err(error) => error.to_string(),
        Ok(cluster) => source(cluster).digest(b"/test/file").unwrap_err().to_string(),
    };
    let why = refused(&hadoop.configuration, "other", Some(&held));
    assert!(why.contains("user is other") && why.contains("etl@CPT.TEST"), "{why}");
    let why = refused(&hadoop.configuration, USER, None);
    assert!(why.contains("there is no delegation token"), "{why}");
    // The configuration believes whoever comes; the cluster does not.
    let simple = hadoop.otherwise("<value>kerberos</value>", "<value>simple</value>");
    let why = refused(simple.path(), USER, None);
    assert!(why.contains("SIMPLE authentication is not enabled"), "{why}");
    let why = refused(simple.path(), USER, Some(&held));
    assert!(why.contains("hadoop.security.authentication is simple"), "{why}");
    for (setting, right) in [("hadoop.rpc.protection", "auth-conf"), ("dfs.data.transfer.protection", "auth-conf")] {
        let what = |value: &str| format!("<name>{setting}</name><value>{value}</value>");
        let stricter = hadoop.otherwise(&what("authentication"), &what("privacy"));
        let why = refused(stricter.path(), USER, Some(&held));
        assert!(why.contains(&format!("{setting} asks for {right} here")), "{why}");
    }
    let what = |value: &str| format!("<name>dfs.encrypt.data.transfer</name><value>{value}</value>");
    let why = refused(hadoop.otherwise(&what("false"), &what("true")).path(), USER, Some(&held));
    assert!(why.contains("dfs.encrypt.data.transfer is true here"), "{why}");
    // A token that is cancelled is nobody's.
    let cluster = Cluster::of(&hadoop.configuration, USER, Some(&held)).unwrap();
    cluster.cancel(&token).unwrap();
    let why = refused(&hadoop.configuration, USER, Some(&held));
    assert!(why.contains("can't be found in cache"), "{why}");
    // Another one in its place is taken by what has the first one.
    held.replace(hadoop.token(USER));
    source(Cluster::of(&hadoop.configuration, USER, Some(&held)).unwrap()).digest(b"/test/file").unwrap();
}

#[test]
fn bytes_come_and_go_where_they_are_summed_up_by_a_key() {
    let Some(hadoop) = Hadoop::new(&["--guard", "integrity:integrity"]) else { return };
    check_bytes(&hadoop);
}

#[test]
fn bytes_come_and_go_where_they_are_encrypted_by_the_session() {
    let Some(hadoop) = Hadoop::new(&["--guard", "privacy:privacy"]) else { return };
    check_bytes(&hadoop);
}

#[test]
fn bytes_come_and_go_where_the_name_node_gives_keys_for_them() {
    for cipher in ["3des", "aes"] {
        let Some(hadoop) = Hadoop::new(&["--guard", "privacy:authentication", "--encrypt", cipher]) else { return };
        check_bytes(&hadoop);
    }
}
