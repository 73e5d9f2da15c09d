//! A name node has done what it was asked for, and its answer is lost: once for each call that changes something. With `make chaos`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::destination::HdfsDestination;

use super::apart::turn;
use super::hadoop::{Directory, Hadoop, USER};
use super::hdfs_faults::{again, content, digest_of, header, open, part};

const SIZE: u64 = (8 << 20) + 12_345;
const CALLS: [&str; 9] = ["create", "addBlock", "complete", "concat", "rename2", "setPermission", "setTimes", "mkdirs", "delete"];

/// Stands before a name node, and loses one answer.
struct Lossy {
    configuration: PathBuf,
    /// The next call of that name gets no answer.
    is_armed: Arc<AtomicBool>,
    _folder: tempfile::TempDir,
}

impl Lossy {
    fn before(of: &Hadoop, call: &'static str) -> Self {
        let core = std::fs::read_to_string(of.configuration.join("core-site.xml")).unwrap();
        let address = core.split("hdfs://").nth(1).unwrap().split('<').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let own = core.replace(&address, &listener.local_addr().unwrap().to_string());
        std::fs::write(folder.path().join("core-site.xml"), own).unwrap();
        std::fs::copy(of.configuration.join("hdfs-site.xml"), folder.path().join("hdfs-site.xml")).unwrap();
        let is_armed = Arc::new(AtomicBool::new(false));
        let armed = Arc::clone(&is_armed);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&address).unwrap());
                let (from, to, armed) = (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&armed));
                let is_lost = Arc::new(AtomicBool::new(false));
                let loses = Arc::clone(&is_lost);
                std::thread::spawn(move || {
                    pass(&from, &to, |bytes| {
                        let name = [&[u8::try_from(call.len()).unwrap()][..], call.as_bytes()].concat();
                        if bytes.windows(name.len()).any(|some| some == name) && armed.swap(false, Ordering::SeqCst) {
                            loses.store(true, Ordering::SeqCst);
                        }
                        true
                    });
                });
                std::thread::spawn(move || pass(&server, &client, |_| !is_lost.load(Ordering::SeqCst)));
            }
        });
        Self { configuration: folder.path().to_owned(), is_armed, _folder: folder }
    }
}

/// Passes bytes on until one of both has enough, or `passes` says that these are not.
fn pass(mut from: &TcpStream, mut to: &TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || !passes(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn an_answer_that_is_lost_loses_nothing_else() {
    let Some(turn) = turn() else { return };
    for call in CALLS {
        let (directory, before) = (Directory::of(turn.of), Lossy::before(turn.of, call));
        let end = HdfsDestination::new(Cluster::of(&before.configuration, USER, None).unwrap(), &directory.path);
        let to = open(&end);
        before.is_armed.store(call != "delete", Ordering::SeqCst);
        again(turn.of, call, || {
            let mut small = to.small(&header(4, "deep/small", 5))?;
            small.write(b"bytes")?;
            small.finish()?;
            small.place(b"deep/small")
        });
        let (file, _) = to.large(&header(3, "large", SIZE)).unwrap();
        (0..3).for_each(|number| part(turn.of, &*file, number, || ()));
        again(turn.of, call, || file.place());
        before.is_armed.fetch_or(call == "delete", Ordering::SeqCst);
        again(turn.of, "its end", || to.finish(&|| ()));
        assert!(!before.is_armed.load(Ordering::SeqCst), "no {call} was asked for");
        assert_eq!(digest_of(&end, "large"), *blake3::hash(&content(SIZE)).as_bytes(), "{call}");
        assert_eq!(digest_of(&end, "deep/small"), *blake3::hash(b"bytes").as_bytes(), "{call}");
        assert_eq!(directory.names(""), ["deep", "large"], "{call}");
    }
}
