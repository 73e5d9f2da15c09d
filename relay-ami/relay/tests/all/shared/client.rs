//! One machine's mount of a shared file system of the tests' own: `cpt-shared-files`, in a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What `flock` is on it.
#[derive(Clone, Copy)]
pub enum Locks {
    Shared,
    Local,
}

/// Goes with its mount. A test that ends without it has it end too, since it reads the end of what it is told.
pub struct Client {
    process: Child,
    told: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    pub at: PathBuf,
}

impl Client {
    /// Of the directory `backing`, at a mount point that is made. None, and said so, where this machine mounts nothing by FUSE.
    pub fn mount(backing: &Path, at: PathBuf, locks: Locks) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            cpt_skipped::skipped("no root, or no /dev/fuse: no shared file system");
            return None;
        }
        std::fs::create_dir_all(&at).unwrap();
        let locks = match locks {
            Locks::Shared => "shared",
            Locks::Local => "local",
        };
        let program = std::env::var_os("CARGO_BIN_EXE_cpt-shared-files").expect("cargo sets it");
        let mut command = Command::new(program);
        command.arg(backing).arg(&at).arg(locks).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (told, says) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut client = Self { process, told, says, at };
        assert_eq!(client.heard(), "ready");
        Some(client)
    }

    fn heard(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// A switch, as `cpt-shared-files` has them. It counts when this returns.
    pub fn tell(&mut self, line: &str) -> String {
        writeln!(self.told.as_ref().unwrap(), "{line}").unwrap();
        let answer = self.heard();
        let said = answer.strip_prefix("ok").unwrap_or_else(|| panic!("{line}: {answer}"));
        said.trim_start().to_owned()
    }

    /// How many calls of this name it has served.
    pub fn served(&mut self, call: &str) -> u64 {
        self.tell(&format!("served {call}")).parse().unwrap()
    }

    /// How many answers of this name are still to be lost.
    pub fn left(&mut self, call: &str) -> u64 {
        self.tell(&format!("left {call}")).parse().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.told.take());
        let _ = self.process.wait();
    }
}

/// A directory that is the server, and mounts of it beside it.
pub struct Server {
    folder: tempfile::TempDir,
}

impl Server {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("server")).unwrap();
        Self { folder }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("server")
    }

    pub fn client(&self, name: &str) -> Option<Client> {
        Client::mount(&self.root(), self.folder.path().join(name), Locks::Shared)
    }

    pub fn client_with(&self, name: &str, locks: Locks) -> Option<Client> {
        Client::mount(&self.root(), self.folder.path().join(name), locks)
    }
}
