//! Times the listing of a bucket whose keys are made as they are asked for, by a server that takes its time for each page.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::by_hand;
use cpt_command_line::CliError;
use cpt_command_line::roles::print_json;
use cpt_control_aws::clients::http_client;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::source::BucketSource;
use cpt_relay::documents::event::Failure;
use cpt_relay::ends::{Listed, Source as _};

/// As many as S3 brings.
const PAGE: u64 = 1000;
/// Keys of a group whose names lie close together.
const GROUP: u64 = 3333;

/// How keys are spread.
#[derive(Clone, Copy)]
enum Shape {
    /// Numbers.
    Even,
    /// Half of all lie in the first directory, half of the rest in the next.
    Skewed,
    /// Groups of a few pages, by year and month.
    Groups,
}

impl Shape {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "even" => Some(Self::Even),
            "skewed" => Some(Self::Skewed),
            "groups" => Some(Self::Groups),
            _ => None,
        }
    }

    /// The so-many-th key, in the order of their bytes.
    fn key(self, number: u64, all: u64) -> String {
        match self {
            Self::Even => format!("{number:012}"),
            Self::Skewed => {
                let (mut directory, mut from, mut left) = (0, 0, all);
                while left > 1 && number - from >= left / 2 {
                    (directory, from, left) = (directory + 1, from + left / 2, left - left / 2);
                }
                format!("part-{directory:02}/{:010}.dat", number - from)
            }
            Self::Groups => {
                let (group, within) = (number / GROUP, number % GROUP);
                // As hashes lie: evenly, and over all that their digits can be.
                let hash = within * (u64::MAX / GROUP);
                format!("{:05}/{:02}/{hash:016x}", 10_000 + group / 12, group % 12)
            }
        }
    }

    /// How many keys come before this one, or are it.
    fn up_to(self, key: &str, all: u64) -> u64 {
        let (mut low, mut high) = (0, all);
        while low < high {
            let middle = low + (high - low) / 2;
            if &*self.key(middle, all) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[derive(Clone)]
struct Server {
    shape: Shape,
    keys: u64,
    page: Duration,
    pages: Arc<AtomicU64>,
}

impl Server {
    fn serve(&self, socket: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(socket);
        loop {
            let (mut line, mut header) = (String::new(), String::new());
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            while reader.read_line(&mut header)? > 2 {
                header.clear();
            }
            std::thread::sleep(self.page);
            let word = |name: &str| {
                let rest = line.split_once(name).map(|(_, rest)| rest);
                decoded(rest.and_then(|rest| rest.split(['&', ' ']).next()).unwrap_or_default())
            };
            let body = self.answer(&word("prefix="), &word("start-after="));
            write!(&*socket, "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
        }
    }

    fn answer(&self, prefix: &str, after: &str) -> String {
        self.pages.fetch_add(1, Ordering::SeqCst);
        let Self { shape, keys, .. } = *self;
        let up_to = |key: &str| if key.is_empty() { 0 } else { shape.up_to(key, keys) };
        // No key is another one's beginning.
        let end = if prefix.is_empty() { keys } else { up_to(&format!("{prefix}{}", char::MAX)) };
        let from = end.min(up_to(prefix).max(up_to(after)));
        let until = end.min(from + PAGE);
        let mut text = String::from("<ListBucketResult>");
        for number in from..until {
            let key = shape.key(number, keys);
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{number:032x}&quot;</ETag>\
                 <Size>10240</Size><StorageClass>STANDARD</StorageClass></Contents>"
            );
        }
        let is_truncated = until < end;
        let token = if is_truncated { "<NextContinuationToken>more</NextContinuationToken>" } else { "" };
        let _ = write!(text, "<IsTruncated>{is_truncated}</IsTruncated>{token}</ListBucketResult>");
        text
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let pair = if byte == b'%' { rest.next().zip(rest.next()) } else { None };
        bytes.push(
            pair.map_or(byte, |(high, low)| {
                u8::from_str_radix(&format!("{}{}", char::from(high), char::from(low)), 16).unwrap_or_default()
            }),
        );
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What it took.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    keys: u64,
    listers: usize,
    seconds: f64,
    keys_per_second: f64,
    requests: u64,
    /// Of this process, the server's included, at its peak.
    memory_mib: u64,
}

pub fn run(arguments: &[OsString]) -> Result<ExitCode, CliError> {
    let usage = || CliError::Usage("list-bucket even|skewed|groups KEYS LISTERS MILLISECONDS".to_owned());
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let [shape, keys, listers, page] = words.as_slice() else { return Err(usage()) };
    let parsed = (|| Some((Shape::parse(shape)?, keys.parse().ok()?, listers.parse::<usize>().ok()?, page.parse().ok()?)))();
    let (shape, keys, listers, page) = parsed.ok_or_else(usage)?;
    let failed = |error: std::io::Error| CliError::failed(Failure::ListenFailed, error);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let server = Server { shape, keys, page: Duration::from_millis(page), pages: Arc::default() };
    let pages = Arc::clone(&server.pages);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let server = server.clone();
            std::thread::spawn(move || server.serve(&socket));
        }
    });
    let credentials = Setup::credentials_of_environment().ok_or_else(|| CliError::Usage("AWS_ACCESS_KEY_ID is missing".to_owned()))?;
    let (endpoint, http) = (Some(format!("http://{address}")), http_client().map_err(by_hand::failed)?);
    let place = Place { bucket: "made-up".to_owned(), prefix: String::new(), region: "us-east-1".to_owned(), owner: None };
    let source = BucketSource::new(Bucket::new(place, Setup { endpoint, http, credentials }).map_err(failed)?).listed_by(listers);
    let (begun, mut found, mut last) = (Instant::now(), 0, String::new());
    let mut wrong = None;
    let _ = source.list(&mut |listed| {
        match listed {
            Listed::Entry(entry) if entry.path > last => {
                found += 1;
                last = entry.path;
            }
            Listed::Entry(entry) => wrong = Some(format!("{} comes after {last}", entry.path)),
            Listed::Problem(_, why) => wrong = Some(why),
            Listed::LeftOut(..) | Listed::Unkept(_) => {}
        }
        Ok(())
    });
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(why) = wrong.or_else(|| (found != keys).then(|| format!("{found} of {keys} keys were listed"))) {
        return Err(CliError::failed(Failure::SurveyProblem, why));
    }
    let (requests, memory_mib) = (pages.load(Ordering::SeqCst), peak_mib());
    print_json(&Listing { keys, listers, seconds, keys_per_second: keys as f64 / seconds, requests, memory_mib })
}

/// The most memory that this process has had.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
}
