//! S3 in memory, as far as a bucket as an end calls it, over HTTP.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use cpt_ends_s3::checksum::Crc;
use cpt_relay::documents::percent;

use super::s3_faults::{Fault, Faults};
use super::s3_requests::{Request, read};

/// Seconds since 1970 when all that the tests do begins; what was there before is from 1970.
const BEGIN: i64 = 946_684_800;

#[derive(Clone, Default)]
pub struct Object {
    pub bytes: Vec<u8>,
    etag: String,
    pub metadata: BTreeMap<String, String>,
    crc: String,
    /// Seconds since 1970: each write comes a second after the one before it.
    pub written: i64,
}

#[derive(Default)]
struct Upload {
    key: String,
    metadata: BTreeMap<String, String>,
    parts: BTreeMap<u32, Object>,
    /// Nobody was told of it, or somebody has removed the note of it.
    is_unknown: bool,
    /// The access key's id of whoever has begun it.
    by: String,
}

#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, Upload>,
    next: u64,
    writes: i64,
    pub faults: Faults,
    /// Only calls with this access key are taken; all where it is empty.
    pub only: String,
    /// Somebody has removed the bucket.
    pub is_gone: bool,
    /// By key: class, tags and key of KMS of each write and each upload that was begun.
    pub written: Vec<(String, [Option<String>; 3])>,
    /// How often each was called.
    pub calls: BTreeMap<&'static str, usize>,
    /// Bytes of bodies, and of what was read, by the name under which the service was called.
    pub moved: BTreeMap<String, usize>,
    /// Under any other name than its own nothing is allowed, as a policy may have it that knows addresses.
    pub is_strict: bool,
}

impl State {
    pub fn uploads(&self) -> usize {
        self.uploads.len()
    }

    /// Keys of those that whoever has this key must end, and of how many parts they have: what others have begun he knows from the first part on.
    pub fn known_uploads(&self, by: &str) -> impl Iterator<Item = (&String, usize)> {
        let known = self.uploads.values().filter(move |upload| !upload.is_unknown && (upload.by == by || !upload.parts.is_empty()));
        known.map(|upload| (&upload.key, upload.parts.len()))
    }

    /// No transfer can know any more of those that are open.
    pub fn disown_uploads(&mut self) {
        self.uploads.values_mut().for_each(|upload| upload.is_unknown = true);
    }

    /// As somebody else does who has the right to.
    pub fn abort_all(&mut self) {
        self.uploads.clear();
    }

    /// An object of somebody else, with the metadata of the one that it replaces.
    pub fn put(&mut self, key: &str, bytes: &[u8]) {
        let metadata = self.objects.get(key).map(|object| object.metadata.clone()).unwrap_or_default();
        self.objects.insert(key.to_owned(), Object::new(bytes.to_vec(), metadata));
    }

    /// What anybody writes now.
    pub fn write(&mut self, key: &str, bytes: Vec<u8>, metadata: BTreeMap<String, String>) {
        self.writes += 1;
        self.objects.insert(key.to_owned(), Object { written: BEGIN + self.writes, ..Object::new(bytes, metadata) });
    }
}

impl Object {
    fn new(bytes: Vec<u8>, metadata: BTreeMap<String, String>) -> Self {
        let etag = format!("\"{}\"", &blake3::hash(&bytes).to_hex()[..32]);
        let crc = Crc::of(&bytes).text();
        Self { bytes, etag, metadata, crc, written: 0 }
    }

    fn time(&self, format: DateTimeFormat) -> String {
        DateTime::from_secs(self.written).fmt(format).unwrap()
    }
}

/// One bucket, `there`.
#[derive(Clone)]
pub struct Service {
    pub endpoint: String,
    state: Arc<Mutex<State>>,
    /// Requests that come late: the answer to the first one of a method whose key has this in it is made once the others let it.
    late: Arc<Mutex<Option<Late>>>,
    is_over: Arc<AtomicBool>,
}

/// Whose it is, its method, a piece of its key, and who lets it go on.
type Late = (&'static str, &'static str, &'static str, Receiver<()>);

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Answer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Answer { status, headers, body: body.into() }
}

fn error(status: u16, code: &str) -> Answer {
    answer(status, &[], format!("<Error><Code>{code}</Code><Message>so it is</Message></Error>"))
}

impl Service {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let service = Self { endpoint, state: Arc::default(), late: Arc::default(), is_over: Arc::default() };
        let served = service.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if served.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let served = served.clone();
                std::thread::spawn(move || served.serve(&socket));
            }
        });
        service
    }

    /// Takes no connections any more; those that there are stay.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.endpoint.trim_start_matches("http://"));
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The next request of a method whose key has this in it is done once the sender is dropped.
    pub fn hold(&self, method: &'static str, key: &'static str) -> Sender<()> {
        self.hold_of("", method, key)
    }

    /// The same, of the one who has an access key with this id.
    pub fn hold_of(&self, who: &'static str, method: &'static str, key: &'static str) -> Sender<()> {
        let (let_go, held) = channel();
        *self.late.lock().unwrap() = Some((who, method, key, held));
        let_go
    }

    /// Whether the request that is to be held has come.
    pub fn has_held(&self) -> bool {
        self.late.lock().unwrap().is_none()
    }

    fn held(&self, request: &Request) -> Option<Receiver<()>> {
        let mut late = self.late.lock().unwrap();
        let by = request.headers.get("authorization").map_or("", String::as_str);
        let is_meant = |(who, method, key, _): &Late| {
            request.method == *method && request.key.contains(key) && by.contains(&format!("Credential={who}"))
        };
        if late.as_ref().is_some_and(is_meant) { late.take().map(|(.., held)| held) } else { None }
    }

    fn serve(&self, socket: &TcpStream) {
        let mut reader = BufReader::new(socket);
        while let Some(request) = read(&mut reader, socket) {
            if let Some(held) = self.held(&request) {
                // Whoever holds it up has gone on, or has ended.
                let _ = held.recv();
            }
            let host = request.headers.get("host").cloned().unwrap_or_default();
            let is_own = self.endpoint.ends_with(&host);
            let mut state = self.state();
            let fault = state.faults.next(request.operation());
            let answered = match fault {
                Some(Fault::Refused(status, code)) => error(status, code),
                Some(Fault::Cut) => return,
                _ if !state.only.is_empty() && state.only != request.by() => return,
                _ if state.is_strict && !is_own => error(403, "AccessDenied"),
                _ => state.answer(&request),
            };
            if matches!(fault, Some(Fault::Lost | Fault::Halved)) && request.operation() == "CreateMultipartUpload" {
                let id = state.last_upload();
                state.uploads.entry(id).and_modify(|upload| upload.is_unknown = true);
            }
            drop(state);
            let Answer { status, headers, body } = answered;
            *self.state().moved.entry(host).or_default() += request.body.len() + if request.method == "GET" { body.len() } else { 0 };
            let length = if request.method == "HEAD" { None } else { Some(body.len()) };
            let mut text = format!("HTTP/1.1 {status} x\r\n");
            headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
            if let Some(length) = length.filter(|_| !headers.iter().any(|(name, _)| name == "content-length")) {
                text.push_str(&format!("content-length: {length}\r\n"));
            }
            text.push_str("\r\n");
            let body = if length.is_some() { &body[..] } else { b"" };
            let answer = [text.as_bytes(), body].concat();
            let sent = match fault {
                Some(Fault::Lost) => 0,
                Some(Fault::Halved) => text.len() - 1 + body.len() / 2,
                _ => answer.len(),
            };
            if (&*socket).write_all(&answer[..sent]).is_err() || sent < answer.len() {
                return;
            }
        }
    }
}

impl State {
    fn last_upload(&self) -> String {
        format!("upload-{}", self.next)
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let (key, upload) = (request.key.as_str(), request.query.get("uploadId").cloned());
        let operation = request.operation();
        *self.calls.entry(operation).or_default() += 1;
        if self.is_gone {
            return error(404, "NoSuchBucket");
        }
        if matches!(operation, "PutObject" | "CreateMultipartUpload") {
            let names = ["x-amz-storage-class", "x-amz-tagging", "x-amz-server-side-encryption-aws-kms-key-id"];
            self.written.push((key.to_owned(), names.map(|name| request.headers.get(name).cloned())));
        }
        let metadata = || {
            let of = request.headers.iter().filter_map(|(name, value)| Some((name.strip_prefix("x-amz-meta-")?.to_owned(), value.clone())));
            of.collect::<BTreeMap<_, _>>()
        };
        let sent = Object::new(request.body.clone(), metadata());
        let named = request.headers.get("x-amz-checksum-crc64nvme");
        if request.method == "PUT" && named.is_some_and(|named| *named != sent.crc) {
            return error(400, "BadDigest");
        }
        let is_other = self.is_other(request);
        let uploads = upload.as_ref().map(|id| self.uploads.get_mut(id).filter(|upload| upload.key == key));
        if matches!(uploads, Some(None)) {
            return error(404, "NoSuchUpload");
        }
        match (operation, uploads.flatten()) {
            ("UploadPart", Some(upload)) => {
                let etag = sent.etag.clone();
                upload.parts.insert(request.query["partNumber"].parse().unwrap(), sent);
                answer(200, &[("etag", &etag)], "")
            }
            ("ListParts", Some(upload)) => {
                let parts = upload.parts.iter().map(|(number, part)| {
                    let (etag, size, crc) = (&part.etag, part.bytes.len(), &part.crc);
                    format!(
                        "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag><Size>{size}</Size><ChecksumCRC64NVME>{crc}</ChecksumCRC64NVME></Part>"
                    )
                });
                let parts: String = parts.collect();
                answer(200, &[], format!("<ListPartsResult>{parts}<IsTruncated>false</IsTruncated></ListPartsResult>"))
            }
            ("CompleteMultipartUpload", Some(upload)) => {
                let whole: Vec<u8> = upload.parts.values().flat_map(|part| part.bytes.clone()).collect();
                let text = String::from_utf8_lossy(&request.body).replace("&quot;", "\"");
                let all_named = upload.parts.values().all(|part| text.contains(&part.etag) && text.contains(&part.crc));
                if !all_named || text.matches("<Part>").count() != upload.parts.len() {
                    return error(400, "InvalidPart");
                }
                let object = Object::new(whole, std::mem::take(&mut upload.metadata));
                let size = request.headers["x-amz-mp-object-size"].parse::<usize>().unwrap();
                if request.headers["x-amz-checksum-type"] != "FULL_OBJECT" || named != Some(&object.crc) || size != object.bytes.len() {
                    return error(400, "BadDigest");
                }
                let etag = object.etag.clone();
                let metadata = object.metadata;
                self.uploads.remove(&upload_id(upload_of(request)));
                self.write(key, object.bytes, metadata);
                answer(200, &[], format!("<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"))
            }
            ("AbortMultipartUpload", Some(_)) => {
                self.uploads.remove(&upload_id(upload_of(request)));
                answer(204, &[], "")
            }
            ("CreateMultipartUpload", _) => {
                self.next += 1;
                let id = self.last_upload();
                let (key, metadata, parts) = (key.to_owned(), metadata(), BTreeMap::new());
                let by = request.by().to_owned();
                self.uploads.insert(id.clone(), Upload { key, metadata, parts, is_unknown: false, by });
                answer(200, &[], format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"))
            }
            ("PutObject", _) if is_other => match self.objects.contains_key(key) {
                true => error(412, "PreconditionFailed"),
                false => error(404, "NoSuchKey"),
            },
            ("PutObject", _) if request.headers.contains_key("if-none-match") && self.objects.contains_key(key) => {
                error(412, "PreconditionFailed")
            }
            ("PutObject", _) => {
                let etag = sent.etag.clone();
                self.write(key, sent.bytes, sent.metadata);
                answer(200, &[("etag", &etag)], "")
            }
            ("DeleteObject", _) if is_other => error(412, "PreconditionFailed"),
            ("DeleteObject", _) => {
                self.objects.remove(key);
                answer(204, &[], "")
            }
            ("ListObjectsV2", _) => self.list(&request.query),
            _ => self.object(request),
        }
    }

    fn is_other(&self, request: &Request) -> bool {
        let named = request.headers.get("if-match");
        named.is_some_and(|etag| self.objects.get(&request.key).is_none_or(|object| object.etag != *etag))
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Answer {
        let (prefix, after) = (&query["prefix"], query.get("start-after"));
        let most: usize = query.get("max-keys").map_or(1000, |most| most.parse().unwrap());
        let mut found = self.objects.iter().filter(|(key, _)| key.starts_with(prefix) && after.is_none_or(|after| *key > after));
        let page: String = found
            .by_ref()
            .take(most)
            .map(|(key, object)| {
                let (key, etag, size, time) =
                    (percent::encode(key.as_bytes()), &object.etag, object.bytes.len(), object.time(DateTimeFormat::DateTime));
                format!("<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>{etag}</ETag><Size>{size}</Size></Contents>")
            })
            .collect();
        let more = found.next().is_some();
        answer(200, &[], format!("<ListBucketResult>{page}<IsTruncated>{more}</IsTruncated></ListBucketResult>"))
    }

    fn object(&self, request: &Request) -> Answer {
        let Some(object) = self.objects.get(&request.key) else { return error(404, "NoSuchKey") };
        if request.headers.get("if-match").is_some_and(|etag| *etag != object.etag) {
            return error(412, "PreconditionFailed");
        }
        let mut headers = vec![("etag".to_owned(), object.etag.clone()), ("x-amz-checksum-crc64nvme".to_owned(), object.crc.clone())];
        headers.push(("last-modified".to_owned(), object.time(DateTimeFormat::HttpDate)));
        headers.extend(object.metadata.iter().map(|(name, value)| (format!("x-amz-meta-{name}"), value.clone())));
        if request.method == "HEAD" {
            headers.push(("content-length".to_owned(), object.bytes.len().to_string()));
        }
        let range = request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let Some((first, last)) = range else { return Answer { status: 200, headers, body: object.bytes.clone() } };
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        // The checksum of the whole is none of a range.
        headers.remove(1);
        headers.push(("content-range".to_owned(), format!("bytes {first}-{last}/{}", object.bytes.len())));
        Answer { status: 206, headers, body: object.bytes[first..=last].to_vec() }
    }
}

fn upload_of(request: &Request) -> &str {
    &request.query["uploadId"]
}

fn upload_id(id: &str) -> String {
    id.to_owned()
}
