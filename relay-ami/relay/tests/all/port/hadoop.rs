//! A Hadoop of this machine's own, for the suites: one cluster for all tests of a process, in which each has a directory.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use bytes::Bytes;
use hdfs_native::{Client, ClientBuilder, WriteOptions};
use tokio::runtime::Runtime;

/// What `python -m local.hadoop` says where this machine has none.
const MISSING: i32 = 3;
pub const USER: &str = "etl";

pub struct Hadoop {
    pub configuration: PathBuf,
    /// Hadoop's own `hdfs`.
    program: PathBuf,
    runtime: Runtime,
    client: Client,
    /// The cluster ends when this is closed.
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _process: Child,
}

/// The cluster of all suites; none where this machine has no Java, or none that Hadoop runs on.
pub fn hadoop() -> Option<&'static Hadoop> {
    static STARTED: OnceLock<Option<Hadoop>> = OnceLock::new();
    STARTED.get_or_init(|| Hadoop::start(&["--core", "fs.trash.interval=10"])).as_ref()
}

impl Hadoop {
    /// One that is asked for with these words of `python -m local.hadoop`.
    pub fn start(words: &[&str]) -> Option<Self> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..");
        let mut process = Command::new(checkout.join(".venv/bin/python"))
            .args(["-m", "local.hadoop"])
            .args(words)
            .current_dir(&checkout)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut line, mut output) = (String::new(), BufReader::new(process.stdout.take().unwrap()));
        output.read_line(&mut line).unwrap();
        if line.is_empty() {
            assert_eq!(process.wait().unwrap().code(), Some(MISSING), "the cluster did not start; see above");
            return None;
        }
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let configuration = PathBuf::from(told["conf"].as_str().unwrap());
        let program = PathBuf::from(told["hdfs"].as_str().unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = ClientBuilder::new()
            .with_config_dir(configuration.display().to_string())
            .with_io_runtime(runtime.handle().clone())
            .build()
            .unwrap();
        let talk = Mutex::new((process.stdin.take().unwrap(), output));
        Some(Self { configuration, program, runtime, client, talk, _process: process })
    }

    /// Has the cluster do what a line asks for, such as `kill data-0`.
    pub fn tell(&self, line: &str) {
        let (input, output) = &mut *self.talk.lock().unwrap();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(!answer.contains("\"error\""), "{answer}");
    }

    /// What a tool of Hadoop says.
    pub fn hdfs(&self, words: &[&str]) -> String {
        let done = Command::new(&self.program).args(words).stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    pub fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// As its superuser.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl Hadoop {
    /// Changes a byte of each replica of a block of these bytes, where it lies; `fits`: its checksums are made to fit. Returns how many
    /// there were.
    pub fn spoil(&self, bytes: &[u8], fits: bool) -> usize {
        let folder = self.configuration.parent().unwrap();
        let blocks: Vec<PathBuf> = files(folder).into_iter().filter(|path| is_block(path)).collect();
        let same: Vec<PathBuf> = blocks.into_iter().filter(|path| std::fs::read(path).is_ok_and(|found| found == bytes)).collect();
        for block in &same {
            let mut changed = bytes.to_vec();
            changed[bytes.len() / 2] ^= 1;
            if fits {
                fit(block, &changed);
            }
            std::fs::write(block, changed).unwrap();
        }
        same.len()
    }
}

fn is_block(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.strip_prefix("blk_").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.flat_map(|entry| if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { vec![entry.path()] }).collect()
}

/// Writes the checksums of a block's new bytes beside it: a header of two bytes, the kind, how many bytes have one, then CRC-32C of each
/// so many.
fn fit(block: &Path, bytes: &[u8]) {
    let name = format!("{}_", block.file_name().unwrap().to_str().unwrap());
    let beside = files(block.parent().unwrap());
    let meta = beside.iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&name)).unwrap();
    let mut of = std::fs::read(meta).unwrap();
    assert_eq!(of[2], 2, "CRC-32C");
    let each = u32::from_be_bytes(of[3..7].try_into().unwrap());
    of.truncate(7);
    for some in bytes.chunks(usize::try_from(each).unwrap()) {
        of.extend(u32::try_from(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, some)).unwrap().to_be_bytes());
    }
    std::fs::write(meta, of).unwrap();
}

/// A directory of the cluster, and what its owner can do there.
pub struct Directory {
    pub of: &'static Hadoop,
    pub path: String,
}

impl Directory {
    /// One that nobody has used; none where there is no cluster.
    pub fn new() -> Option<Self> {
        let Some(of) = hadoop() else {
            cpt_skipped::skipped("there is no Java that Hadoop runs on: what HDFS does is tested with one");
            return None;
        };
        Some(Self::of(of))
    }

    /// The same of another cluster.
    pub fn of(of: &'static Hadoop) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = format!("/test-{}", NEXT.fetch_add(1, Ordering::SeqCst));
        of.runtime.block_on(async {
            of.client.mkdirs(&path, 0o777, true).await.unwrap();
            of.client.set_permission(&path, 0o777).await.unwrap();
        });
        Self { of, path }
    }

    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.path)
    }

    pub fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.of.runtime.block_on(call)
    }

    /// Makes a file with this time, seconds since 1970; one that is there is replaced.
    pub fn write(&self, path: &str, bytes: &[u8], seconds: u64) {
        self.wait(async {
            let mut file = self.of.client.create(&self.at(path), WriteOptions::default().overwrite(true)).await.unwrap();
            file.write_bytes(Bytes::copy_from_slice(bytes)).await.unwrap();
            file.close().await.unwrap();
            self.of.client.set_times(&self.at(path), seconds * 1000, u64::MAX).await.unwrap();
            self.of.client.set_permission(&self.at(path), 0o666).await.unwrap();
        });
    }

    /// The time of a file, milliseconds since 1970; none where there is none.
    pub fn time(&self, path: &str) -> Option<u64> {
        self.wait(self.of.client.get_file_info(&self.at(path))).ok().map(|found| found.modification_time)
    }

    /// Names of what lies there.
    pub fn names(&self, path: &str) -> Vec<String> {
        let found = self.wait(self.of.client.list_status(&self.at(path), false)).unwrap_or_default();
        found.into_iter().map(|found| found.path.rsplit('/').next().unwrap().to_owned()).collect()
    }

    /// Takes a snapshot of it.
    pub fn snapshot(&self, name: &str) {
        self.of.hdfs(&["dfsadmin", "-allowSnapshot", &self.path]);
        self.of.hdfs(&["dfs", "-createSnapshot", &self.path, name]);
    }

    /// Appends the blocks of files to another one.
    pub fn join(&self, target: &str, sources: &[&str]) {
        let sources: Vec<String> = sources.iter().map(|source| self.at(source)).collect();
        self.wait(self.of.client.concat(&self.at(target), &sources)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        assert!(self.wait(self.of.client.delete(&self.at(path), true)).unwrap(), "{path} was not there");
    }
}
