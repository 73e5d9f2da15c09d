//! Requests about objects as S3 checks them: a service that computes each signature anew from what has come over the wire, and has a clock
//! and keys of its own.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_lc_rs::{digest, hmac};
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use cpt_control_aws::clients::http_client;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::fault::Meaning;
use cpt_ends_s3::objects::{Only, Payload};
use cpt_ends_s3::written::Written;
use cpt_relay::documents::percent;

const REGION: &str = "eu-west-1";
/// A signature counts for so long before and after its time.
const QUARTER: i64 = 15 * 60;

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

#[derive(Default)]
struct State {
    /// By key: bytes, and headers that came with them.
    objects: BTreeMap<String, (Vec<u8>, BTreeMap<String, String>)>,
    /// Its clock is so many seconds ahead.
    ahead: i64,
    /// Tokens that count; any where there are none.
    token: Option<&'static str>,
    /// The next answers to writes, in place of what is true.
    said: Vec<(u16, &'static str)>,
    refused: Vec<String>,
    asked: usize,
}

#[derive(Clone)]
struct Service {
    endpoint: String,
    state: Arc<Mutex<State>>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Self { endpoint: format!("http://{}", listener.local_addr().unwrap()), state: Arc::default() };
        let served = service.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(&socket));
            }
        });
        service
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn bucket(&self, owner: Option<&str>, keys: SharedCredentialsProvider) -> Bucket {
        let owner = owner.map(str::to_owned);
        let place = Place { bucket: "there".to_owned(), prefix: String::new(), region: REGION.to_owned(), owner };
        Bucket::new(place, Setup { endpoint: Some(self.endpoint.clone()), http: http_client().unwrap(), credentials: keys }).unwrap()
    }

    fn serve(&self, socket: &TcpStream) {
        let mut reader = BufReader::new(socket);
        while let Some(request) = read(&mut reader) {
            let (status, headers, body) = self.state().answer(&request);
            let date = DateTime::from_secs(now() + self.state().ahead).fmt(DateTimeFormat::HttpDate).unwrap();
            let mut text = format!("HTTP/1.1 {status} x\r\ndate: {date}\r\ncontent-length: {}\r\n", body.len());
            headers.iter().for_each(|(name, value)| write!(text, "{name}: {value}\r\n").unwrap());
            text.push_str("\r\n");
            let body = if request.method == "HEAD" { &[] } else { &body[..] };
            if (&*socket).write_all(&[text.as_bytes(), body].concat()).is_err() {
                return;
            }
        }
    }
}

type Answer = (u16, BTreeMap<String, String>, Vec<u8>);

fn refusal(status: u16, code: &str) -> Answer {
    (status, BTreeMap::new(), format!("<Error><Code>{code}</Code><Message>so it is</Message></Error>").into_bytes())
}

impl State {
    /// Requests, and how many of them were refused.
    fn counts(&self) -> (usize, usize) {
        (self.asked, self.refused.len())
    }

    fn answer(&mut self, request: &Request) -> Answer {
        self.asked += 1;
        if let Err((code, why)) = self.check(request) {
            self.refused.push(why);
            return refusal(if code == "ExpiredToken" { 400 } else { 403 }, code);
        }
        let key = String::from_utf8(percent::decode(request.path.strip_prefix("/there/").unwrap()).unwrap()).unwrap();
        if request.method == "PUT" {
            self.objects.insert(key, (request.body.clone(), request.headers.clone()));
            if let Some((status, code)) = self.said.pop() {
                return refusal(status, code);
            }
            return (200, BTreeMap::from([("etag".to_owned(), "\"tag\"".to_owned())]), Vec::new());
        }
        let Some((bytes, headers)) = self.objects.get(&key) else { return refusal(404, "NoSuchKey") };
        let mut told: BTreeMap<_, _> = headers.clone().into_iter().filter(|(name, _)| name.starts_with("x-amz-meta-")).collect();
        told.insert("etag".to_owned(), "\"tag\"".to_owned());
        told.insert("last-modified".to_owned(), "Sat, 01 Jan 2000 00:00:00 GMT".to_owned());
        (200, told, bytes.clone())
    }

    fn check(&self, request: &Request) -> Result<(), (&'static str, String)> {
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        if self.token.is_some_and(|token| header("x-amz-security-token") != token) {
            return Err(("ExpiredToken", "another token".to_owned()));
        }
        let at = header("x-amz-date");
        if (seconds(at) - now() - self.ahead).abs() > QUARTER {
            return Err(("RequestTimeTooSkewed", format!("signed at {at}")));
        }
        let (signed, theirs) = header("authorization").split_once(", Signature=").unwrap();
        let (scope, names) = signed.split_once(", SignedHeaders=").unwrap();
        let scope = scope.strip_prefix("AWS4-HMAC-SHA256 Credential=id/").unwrap();
        let sum = header("x-amz-content-sha256");
        let mut canonical = format!("{}\n{}\n{}\n", request.method, canonical_path(&request.path), canonical_query(&request.query));
        for name in names.split(';') {
            let value = header(name).split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            writeln!(canonical, "{name}:{value}").unwrap();
        }
        write!(canonical, "\n{names}\n{sum}").unwrap();
        let text = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref()));
        let parts = [&at[..8], REGION, "s3", "aws4_request"];
        assert_eq!(scope, parts.join("/"));
        let key = parts.iter().fold(b"AWS4secret".to_vec(), |key, part| keyed(&key, part));
        if hex(&keyed(&key, &text)) != theirs {
            return Err(("SignatureDoesNotMatch", canonical));
        }
        if sum != hex(digest::digest(&digest::SHA256, &request.body).as_ref()) {
            return Err(("XAmzContentSHA256Mismatch", sum.to_owned()));
        }
        // What S3 takes for its own is to be signed.
        match request.headers.keys().find(|name| name.starts_with("x-amz-") && !names.split(';').any(|signed| signed == **name)) {
            Some(name) => Err(("AccessDenied", format!("{name} is not signed"))),
            None => Ok(()),
        }
    }
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encoded(text: &str, is_path: bool) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (is_path && byte == b'/');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The path of the key, encoded once by the rule; not what came.
fn canonical_path(path: &str) -> String {
    encoded(&String::from_utf8(percent::decode(path).unwrap()).unwrap(), true)
}

fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<_> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let decoded = |text: &str| String::from_utf8(percent::decode(text).unwrap()).unwrap();
    let pairs = pairs.iter().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(&decoded(name), false), encoded(&decoded(value), false)));
    pairs.collect::<Vec<_>>().join("&")
}

fn now() -> i64 {
    DateTime::from(SystemTime::now()).secs()
}

/// Of `20130524T000000Z`.
fn seconds(text: &str) -> i64 {
    let (day, time) = (&text[..8], &text[9..15]);
    let text = format!("{}-{}-{}T{}:{}:{}Z", &day[..4], &day[4..6], &day[6..], &time[..2], &time[2..4], &time[4..]);
    DateTime::from_str(&text, DateTimeFormat::DateTime).unwrap().secs()
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8(line).unwrap();
        let line = line.strip_suffix("\r\n").unwrap();
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim_matches([' ', '\t']).to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, query, headers, body })
}

fn fixed() -> SharedCredentialsProvider {
    Setup::keys("id", "secret", None)
}

fn put(bucket: &Bucket, key: &str, value: &str) -> Result<String, cpt_ends_s3::fault::Fault> {
    let metadata = HashMap::from([("noted".to_owned(), value.to_owned())]);
    bucket.wait(bucket.put(key, &Payload::new(key.as_bytes().to_vec()), Some(&metadata)))
}

#[test]
fn keys_with_characters_that_mean_something_are_signed_put_and_read() {
    let service = Service::start();
    let bucket = service.bucket(Some("123456789012"), fixed());
    let bucket = bucket.writing(Written {
        storage_class: Some("STANDARD_IA".to_owned()),
        tags: Some("a=b%20c&d=%C3%A9".to_owned()),
        kms_key: Some("arn:aws:kms:eu-west-1:123456789012:key/k".to_owned()),
    });
    for key in
        ["plain", "a+b", "a b", "a%20b", "a//b", "/", "é€𝄞", "a/../b/./c", "?x=1&y#z", "*'()!~;:@,$=[]{}|\\^`\"<>", "bell\u{7}\u{7f}", "%"]
    {
        assert_eq!(put(&bucket, key, "1").unwrap(), "\"tag\"", "{key} {:?}", service.state().refused);
        let size = key.len() as u64;
        assert_eq!(bucket.wait(bucket.read(key, "\"tag\"", &(0..size))).unwrap(), key.as_bytes());
        let head = bucket.wait(bucket.head(key)).unwrap();
        assert_eq!((head.size, &*head.etag, head.modified_ns), (size, "\"tag\"", 946_684_800_000_000_000));
        let headers = service.state().objects[key].1.clone();
        for (name, value) in [
            ("x-amz-expected-bucket-owner", "123456789012"),
            ("x-amz-storage-class", "STANDARD_IA"),
            ("x-amz-tagging", "a=b%20c&d=%C3%A9"),
            ("x-amz-server-side-encryption", "aws:kms"),
            ("x-amz-server-side-encryption-aws-kms-key-id", "arn:aws:kms:eu-west-1:123456789012:key/k"),
            ("content-type", "application/octet-stream"),
        ] {
            assert_eq!(headers.get(name).map(String::as_str), Some(value), "{name}");
        }
    }
    let only = Only::Over("\"of another\"".to_owned());
    bucket.wait(bucket.put_if("c", &Payload::new(Vec::new()), None, &only)).unwrap();
    assert_eq!(service.state().objects["c"].1["if-match"], "\"of another\"");
    assert_eq!(service.state().refused, Vec::<String>::new());
}

/// Numbers that look drawn, of a seed that is named.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

#[test]
fn values_of_headers_arrive_as_they_were_or_are_refused_before_anything_is_sent() {
    const PIECES: [&str; 22] =
        ["a", "Z", "0", " ", "  ", ",", ";", "=", "\"", "'", "%20", "+", "/", "\\", ":", "~", "\t", "é", "€", "\u{7f}", "\n", "\r\nx: y"];
    let (service, mut sent, mut refused) = (Service::start(), 0, 0);
    let bucket = service.bucket(None, fixed());
    for seed in 0..400 {
        let mut drawn = Drawn(seed);
        // Half of them have nothing that no header has.
        let most = if seed % 2 == 0 { 16 } else { PIECES.len() };
        let value: String = (0..drawn.below(12)).map(|_| PIECES[drawn.below(most)]).collect();
        let (key, before) = (format!("k{seed}"), service.state().asked);
        match put(&bucket, &key, &value) {
            Ok(_) => {
                sent += 1;
                let came = service.state().objects[&key].1["x-amz-meta-noted"].clone();
                assert_eq!(came, value.trim_matches(' '), "seed {seed}");
            }
            Err(fault) => {
                refused += 1;
                assert_eq!(service.state().asked, before, "seed {seed}: {fault}");
                assert_eq!(fault.meaning, Meaning::Object, "seed {seed}: {fault}");
                assert!(fault.to_string().contains("x-amz-meta-noted"), "seed {seed}: {fault}");
                assert!(!value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "seed {seed}: {value:?}");
            }
        }
    }
    assert!(sent > 200 && refused > 50, "{sent} {refused}");
    assert_eq!(service.state().refused, Vec::<String>::new());
}

#[test]
fn a_clock_that_is_wrong_costs_one_request_and_no_object() {
    for ahead in [3600, -7200] {
        let service = Service::start();
        service.state().ahead = ahead;
        let bucket = service.bucket(None, fixed());
        put(&bucket, "a", "1").unwrap();
        put(&bucket, "b", "1").unwrap();
        assert_eq!(service.state().counts(), (3, 1));
        // Somebody sets one of the clocks.
        service.state().ahead = 0;
        put(&bucket, "c", "1").unwrap();
        assert_eq!(service.state().counts(), (5, 2));
    }
}

/// Gives a token that is over, and from then on one that counts.
#[derive(Debug, Default)]
struct Renewed(AtomicUsize);

impl ProvideCredentials for Renewed {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let token = if self.0.fetch_add(1, Ordering::SeqCst) == 0 { "old" } else { "new" };
        future::ProvideCredentials::ready(Ok(Credentials::new("id", "secret", Some(token.to_owned()), None, "test")))
    }
}

#[test]
fn keys_are_asked_for_before_each_attempt() {
    let service = Service::start();
    service.state().token = Some("new");
    put(&service.bucket(None, SharedCredentialsProvider::new(Renewed::default())), "a", "1").unwrap();
    assert_eq!(service.state().refused, ["another token"]);
    assert_eq!(service.state().objects["a"].1["x-amz-security-token"], "new");
}

#[test]
fn a_success_that_holds_an_error_is_none() {
    let service = Service::start();
    let bucket = service.bucket(None, fixed());
    service.state().said = vec![(200, "InternalError"), (200, "SlowDown")];
    put(&bucket, "a", "1").unwrap();
    assert_eq!(service.state().asked, 3);
    // Whatever it is.
    service.state().said = vec![(200, "Unheard")];
    put(&bucket, "a", "1").unwrap();
    assert_eq!(service.state().asked, 5);
}

#[test]
fn a_bucket_of_another_region_is_named_as_s3_names_it_and_asked_once() {
    for (status, code) in [(301, "PermanentRedirect"), (307, "TemporaryRedirect"), (400, "AuthorizationHeaderMalformed")] {
        let service = Service::start();
        service.state().said = vec![(status, code)];
        let fault = put(&service.bucket(None, fixed()), "a", "1").unwrap_err();
        assert_eq!((fault.meaning, &*fault.to_string()), (Meaning::Bucket, &*format!("{code}: so it is")));
        assert_eq!((service.state().asked, fault.status), (1, Some(status)));
    }
}
