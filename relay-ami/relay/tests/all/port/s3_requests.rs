//! Requests as S3 gets them.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::TcpStream;

use cpt_relay::documents::percent;

pub struct Request {
    pub method: String,
    pub key: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// The access key's id that it is signed with.
    pub fn by(&self) -> &str {
        let signed = self.headers.get("authorization").and_then(|text| text.split_once("Credential=")?.1.split_once('/'));
        signed.map_or("", |(id, _)| id)
    }

    /// As S3 calls it.
    pub fn operation(&self) -> &'static str {
        match (self.method.as_str(), self.query.contains_key("uploadId")) {
            ("PUT", true) => "UploadPart",
            ("PUT", false) => "PutObject",
            ("POST", true) => "CompleteMultipartUpload",
            ("POST", false) => "CreateMultipartUpload",
            ("DELETE", true) => "AbortMultipartUpload",
            ("DELETE", false) => "DeleteObject",
            ("HEAD", _) => "HeadObject",
            ("GET", true) => "ListParts",
            ("GET", false) if self.key.is_empty() => "ListObjectsV2",
            _ => "GetObject",
        }
    }
}

fn decoded(text: &str) -> String {
    let upper: String = text.to_owned();
    String::from_utf8(percent::decode(&upper).unwrap()).unwrap()
}

/// The next one of a connection; none at its end.
pub fn read(reader: &mut impl BufRead, socket: &TcpStream) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query = pairs.map(|(name, value)| (decoded(name), decoded(value))).collect();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    if headers.contains_key("expect") {
        let mut writer: &TcpStream = socket;
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // After the bucket.
    let key = decoded(path.splitn(3, '/').nth(2).unwrap_or_default());
    Some(Request { method, key, query, headers, body })
}
