//! S3 in memory, as far as a source asks it, over HTTP, with counted faults.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use cpt_relay::documents::percent;

/// What is done to a call in place of its answer.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// This status, with an error of this code.
    Status(u16, &'static str),
    /// The connection breaks after so many bytes of the body.
    Cut(usize),
}

#[derive(Clone)]
pub struct Object {
    pub bytes: Vec<u8>,
    /// Seconds since 1970.
    modified: i64,
    class: &'static str,
}

impl Object {
    fn entity_tag(&self) -> String {
        format!("\"{}\"", &blake3::hash(&self.bytes).to_hex()[..32])
    }
}

#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<String, Object>,
    /// Of calls whose first word and key hold these, in turn.
    faults: Vec<(&'static str, usize, Fault)>,
    /// Method, key and range of each call.
    pub log: Vec<String>,
    /// Keys of a page.
    page: usize,
    puts: i64,
}

#[derive(Clone)]
pub struct Store {
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

impl Store {
    /// `page`: keys of a page of a listing.
    pub fn start(page: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let store = Self { endpoint, state: Arc::new(Mutex::new(State { page, ..State::default() })) };
        let served = store.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(&socket));
            }
        });
        store
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        self.put_as(key, bytes, "STANDARD");
    }

    pub fn put_as(&self, key: &str, bytes: &[u8], class: &'static str) {
        let mut state = self.state();
        state.puts += 1;
        let modified = 1_700_000_000 + state.puts;
        state.objects.insert(key.to_owned(), Object { bytes: bytes.to_vec(), modified, class });
    }

    /// The next `times` calls whose line of the log holds `part` meet this.
    pub fn spoil(&self, part: &'static str, times: usize, fault: Fault) {
        self.state().faults.push((part, times, fault));
    }

    /// Faults that are still to come.
    pub fn left(&self) -> usize {
        self.state().faults.iter().map(|(_, left, _)| left).sum()
    }

    /// Calls that have a line of the log with this.
    pub fn calls(&self, part: &str) -> usize {
        self.state().log.iter().filter(|line| line.contains(part)).count()
    }

    fn serve(&self, socket: &TcpStream) {
        let mut reader = BufReader::new(socket);
        while let Some(request) = Request::read(&mut reader) {
            let (head, body, cut) = {
                let mut state = self.state();
                let fault = state.fault(&request);
                let (head, body) = match fault {
                    Some(Fault::Status(status, code)) => failed(status, code),
                    Some(Fault::Cut(_)) | None => state.answer(&request),
                };
                (head, body, if let Some(Fault::Cut(at)) = fault { Some(at) } else { None })
            };
            let sent = if request.method == "HEAD" { &[] } else { &body[..cut.unwrap_or(body.len()).min(body.len())] };
            let head = format!("HTTP/1.1 {head}Content-Length: {}\r\n\r\n", body.len());
            if (&*socket).write_all(head.as_bytes()).and_then(|()| (&*socket).write_all(sent)).is_err() || cut.is_some() {
                return;
            }
        }
    }
}

/// The status, with headers, and the body.
type Answer = (String, Vec<u8>);

fn failed(status: u16, code: &str) -> Answer {
    (format!("{status} x\r\n"), format!("<Error><Code>{code}</Code><Message>as a test wants it</Message></Error>").into_bytes())
}

impl State {
    fn fault(&mut self, request: &Request) -> Option<Fault> {
        let line = request.line();
        let met = self.faults.iter_mut().find(|(part, left, _)| *left > 0 && line.contains(part));
        let fault = met.map(|(_, left, fault)| {
            *left -= 1;
            *fault
        });
        self.log.push(line);
        fault
    }

    fn answer(&self, request: &Request) -> Answer {
        if request.query.contains_key("list-type") {
            return self.list(&request.query);
        }
        let Some(object) = self.objects.get(&request.key) else { return failed(404, "NoSuchKey") };
        let tag = object.entity_tag();
        if request.headers.get("if-match").is_some_and(|wanted| *wanted != tag) {
            return failed(412, "PreconditionFailed");
        }
        if object.class != "STANDARD" {
            return failed(403, "InvalidObjectState");
        }
        let time = http_date(object.modified);
        let head = format!("ETag: {tag}\r\nLast-Modified: {time}\r\n");
        let Some(range) = request.headers.get("range") else { return (format!("200 x\r\n{head}"), object.bytes.clone()) };
        let (from, last) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).unwrap();
        let (from, last): (usize, usize) = (from.parse().unwrap(), last.parse().unwrap());
        if from >= object.bytes.len() {
            return failed(416, "InvalidRange");
        }
        let end = object.bytes.len().min(last + 1);
        let range = format!("Content-Range: bytes {from}-{}/{}\r\n", end - 1, object.bytes.len());
        (format!("206 x\r\n{head}{range}"), object.bytes[from..end].to_vec())
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| query.get(name).cloned().unwrap_or_default();
        let (prefix, after) = (get("prefix"), get("start-after"));
        assert_eq!(get("encoding-type"), "url");
        let mut found = self.objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
        let mut text = String::from("<ListBucketResult>");
        for (key, object) in found.by_ref().take(self.page) {
            // As forms have it.
            let key = percent::encode(key.as_bytes()).replace("%20", "+");
            let (size, tag, class) = (object.bytes.len(), object.entity_tag().replace('"', "&quot;"), object.class);
            let time = iso_date(object.modified);
            write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>{tag}</ETag><Size>{size}</Size>\
                 <StorageClass>{class}</StorageClass></Contents>"
            )
            .unwrap();
        }
        let is_truncated = found.next().is_some();
        let token = if is_truncated { "<NextContinuationToken>more</NextContinuationToken>" } else { "" };
        write!(text, "<IsTruncated>{is_truncated}</IsTruncated>{token}</ListBucketResult>").unwrap();
        ("200 x\r\nContent-Type: application/xml\r\n".to_owned(), text.into_bytes())
    }
}

fn http_date(seconds: i64) -> String {
    use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
    DateTime::from_secs(seconds).fmt(DateTimeFormat::HttpDate).unwrap()
}

fn iso_date(seconds: i64) -> String {
    use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
    DateTime::from_secs(seconds).fmt(DateTimeFormat::DateTime).unwrap()
}

struct Request {
    method: String,
    key: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let key = path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let query = pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        Some(Self { method, key: decoded(key), query, headers })
    }

    fn line(&self) -> String {
        if self.query.contains_key("list-type") {
            return format!("LIST {} {}", self.query["prefix"], self.query.get("start-after").map_or("", |after| &**after));
        }
        let get = |name: &str| self.headers.get(name).map_or("", |value| &**value);
        format!("{} {} {} {}", self.method, self.key, get("range"), get("if-match")).trim_end().to_owned()
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let pair = [rest.next().unwrap(), rest.next().unwrap()];
            u8::from_str_radix(std::str::from_utf8(&pair).unwrap(), 16).unwrap()
        } else {
            byte
        });
    }
    String::from_utf8(bytes).unwrap()
}
