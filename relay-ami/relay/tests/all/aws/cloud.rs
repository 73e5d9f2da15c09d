//! DynamoDB, S3 and EventBridge in memory, as far as the ends call them, over HTTP, with counted faults.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::expressions;

/// What is done to a call in place of its answer.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The answer is this status, with an error of this code.
    Status(u16, &'static str),
    /// The head is right; the connection breaks in the middle of the body.
    Cut,
    /// Nothing ever comes.
    Silence,
}

struct Rule {
    operation: &'static str,
    /// In the key of an object, or in the body.
    part: &'static str,
    left: usize,
    fault: Fault,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    /// By table and key.
    items: BTreeMap<(String, String), Map<String, Value>>,
    events: Vec<Value>,
    rules: Vec<Rule>,
    /// Seconds by which the services' clocks are ahead; signatures of other times are refused as AWS does.
    ahead: i64,
}

/// The services of one region.
#[derive(Clone)]
pub struct Cloud {
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

struct Request {
    /// `GetItem`, `PutObject`, …
    operation: String,
    key: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: vec![("Content-Type", "application/x-amz-json-1.0".to_owned())], body: body.to_string().into_bytes() }
    }

    fn error(request: &Request, status: u16, code: &str) -> Self {
        if request.operation.ends_with("Object") {
            let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>counted</Message></Error>").into_bytes();
            return Self { status, headers: vec![("Content-Type", "application/xml".to_owned())], body };
        }
        Self::json(status, &json!({"__type": format!("com.amazonaws#{code}"), "message": "counted"}))
    }
}

impl Cloud {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let cloud = Self { endpoint, state: Arc::default() };
        let served = cloud.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(&socket));
            }
        });
        cloud
    }

    /// The next `times` calls of `operation` whose object's key or body holds `part` meet this.
    pub fn spoil(&self, operation: &'static str, part: &'static str, times: usize, fault: Fault) {
        self.state.lock().unwrap().rules.push(Rule { operation, part, left: times, fault });
    }

    /// Faults that are still to come.
    pub fn left(&self) -> usize {
        self.state.lock().unwrap().rules.iter().map(|rule| rule.left).sum()
    }

    pub fn put_object(&self, key: &str, bytes: Vec<u8>) {
        self.state.lock().unwrap().objects.insert(key.to_owned(), bytes);
    }

    /// An item from plain JSON, whose key is these attributes.
    pub fn put_item(&self, table: &str, key: [&str; 2], item: &Value) {
        let item: Map<String, Value> = item.as_object().unwrap().iter().map(|(name, value)| (name.clone(), typed(value))).collect();
        let place = (table.to_owned(), place(&key.map(|name| (name.to_owned(), item[name].clone())).into_iter().collect()));
        self.state.lock().unwrap().items.insert(place, item);
    }

    /// An item by its key: names and texts of its attributes.
    pub fn item(&self, table: &str, names: [&str; 2], values: [&str; 2]) -> Option<Map<String, Value>> {
        let key = names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), json!({"S": value}))).collect();
        self.state.lock().unwrap().items.get(&(table.to_owned(), place(&key))).cloned()
    }

    /// Details of the events of a type.
    pub fn events(&self, detail_type: &str) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let found = state.events.iter().filter(|event| event["DetailType"] == detail_type);
        found.map(|event| serde_json::from_str(event["Detail"].as_str().unwrap()).unwrap()).collect()
    }

    pub fn ahead(&self, seconds: i64) {
        self.state.lock().unwrap().ahead = seconds;
    }

    fn serve(&self, socket: &TcpStream) {
        let mut reader = BufReader::new(socket);
        while let Some(request) = read(&mut reader) {
            let (fault, date) = {
                let mut state = self.state.lock().unwrap();
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
                (state.fault(&request), now.checked_add_signed(state.ahead).unwrap())
            };
            let answer = match fault {
                Some(Fault::Status(status, code)) => Answer::error(&request, status, code),
                Some(Fault::Silence) => {
                    // Until the client gives up, or the test is over.
                    let _ = reader.read(&mut [0]);
                    return;
                }
                Some(Fault::Cut) | None => self.state.lock().unwrap().answer(&request, date),
            };
            let mut text =
                format!("HTTP/1.1 {} x\r\nContent-Length: {}\r\nDate: {}\r\n", answer.status, answer.body.len(), http_date(date));
            answer.headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
            text.push_str("\r\n");
            let cut = matches!(fault, Some(Fault::Cut));
            let body = if cut { &answer.body[..answer.body.len() / 2] } else { &answer.body[..] };
            if (&*socket).write_all(text.as_bytes()).and_then(|()| (&*socket).write_all(body)).is_err() || cut {
                return;
            }
        }
    }
}

impl State {
    fn fault(&mut self, request: &Request) -> Option<Fault> {
        let text = String::from_utf8_lossy(&request.body);
        let meets = |rule: &&mut Rule| {
            rule.left > 0 && rule.operation == request.operation && (request.key.contains(rule.part) || text.contains(rule.part))
        };
        let rule = self.rules.iter_mut().find(meets)?;
        rule.left -= 1;
        Some(rule.fault)
    }

    fn answer(&mut self, request: &Request, now: u64) -> Answer {
        if signed_at(request).is_some_and(|signed| signed.abs_diff(now) > 300) {
            let is_object = request.operation.ends_with("Object");
            return Answer::error(request, 403, if is_object { "RequestTimeTooSkewed" } else { "InvalidSignatureException" });
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match request.operation.as_str() {
            "GetObject" => self.object(request),
            "PutObject" => {
                self.objects.insert(request.key.clone(), request.body.clone());
                Answer { status: 200, headers: Vec::new(), body: Vec::new() }
            }
            "GetItem" => match self.items.get(&place_of(&body)) {
                Some(item) => Answer::json(200, &json!({"Item": item})),
                None => Answer::json(200, &json!({})),
            },
            "BatchGetItem" => {
                let found = |(table, wanted): (&String, &Value)| {
                    let keys = wanted["Keys"].as_array().unwrap().iter();
                    let items: Vec<_> = keys.filter_map(|key| self.items.get(&(table.clone(), place(key.as_object().unwrap())))).collect();
                    (table.clone(), json!(items))
                };
                let responses: Map<String, Value> = body["RequestItems"].as_object().unwrap().iter().map(found).collect();
                Answer::json(200, &json!({"Responses": responses, "UnprocessedKeys": {}}))
            }
            "Query" => {
                let condition = body["KeyConditionExpression"].as_str().unwrap();
                let of_table = self.items.iter().filter(|((table, _), _)| *table == body["TableName"]).map(|(_, item)| item);
                let items: Vec<_> = of_table.filter(|item| expressions::holds(condition, item, &body)).collect();
                Answer::json(200, &json!({"Items": items, "Count": items.len()}))
            }
            "UpdateItem" => {
                let mut item = self.items.get(&place_of(&body)).cloned().unwrap_or_default();
                if body["ConditionExpression"].as_str().is_some_and(|condition| !expressions::holds(condition, &item, &body)) {
                    return Answer::error(request, 400, "ConditionalCheckFailedException");
                }
                item.extend(body["Key"].as_object().unwrap().clone());
                expressions::set(&mut item, &body);
                self.items.insert(place_of(&body), item);
                Answer::json(200, &json!({}))
            }
            "PutEvents" => {
                self.events.extend(body["Entries"].as_array().unwrap().clone());
                Answer::json(200, &json!({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}))
            }
            other => panic!("{other} is not served"),
        }
    }

    fn object(&self, request: &Request) -> Answer {
        let Some(object) = self.objects.get(&request.key) else { return Answer::error(request, 404, "NoSuchKey") };
        let Some(range) = request.headers.get("range") else {
            return Answer { status: 200, headers: Vec::new(), body: object.clone() };
        };
        let (first, last) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let end = object.len().min(last + 1);
        let content_range = format!("bytes {first}-{}/{}", end - 1, object.len());
        Answer { status: 206, headers: vec![("Content-Range", content_range)], body: object[first..end].to_vec() }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let (method, target) = line.split_once(' ')?;
    let (method, path) = (method.to_owned(), target.split([' ', '?']).next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let target = headers.get("x-amz-target").and_then(|target| target.split('.').nth(1));
    let operation = target.unwrap_or(if method == "GET" { "GetObject" } else { "PutObject" }).to_owned();
    // After the bucket.
    let key = path.splitn(3, '/').nth(2).unwrap_or_default().to_owned();
    Some(Request { operation, key, headers, body })
}

fn typed(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"S": text}),
        Value::Number(number) => json!({"N": number.to_string()}),
        other => json!({"BOOL": other}),
    }
}

fn place(key: &Map<String, Value>) -> String {
    let sorted: BTreeMap<_, _> = key.iter().collect();
    json!(sorted).to_string()
}

fn place_of(body: &Value) -> (String, String) {
    (body["TableName"].as_str().unwrap().to_owned(), place(body["Key"].as_object().unwrap()))
}

/// Days before a year of the Gregorian calendar and a month in it, since 1970.
fn days(year: u64, month: u64) -> u64 {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let of_months = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30];
    (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum::<u64>()
        + of_months[..usize::try_from(month).unwrap() - 1].iter().sum::<u64>()
}

/// From `x-amz-date: 20260102T030405Z`.
fn signed_at(request: &Request) -> Option<u64> {
    let text = request.headers.get("x-amz-date")?;
    let number = |from: usize, to: usize| text[from..to].parse::<u64>().unwrap();
    let day = days(number(0, 4), number(4, 6)) + number(6, 8) - 1;
    Some(((day * 24 + number(9, 11)) * 60 + number(11, 13)) * 60 + number(13, 15))
}

fn http_date(seconds: u64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let day = seconds / 86_400;
    let year = (1970..).take_while(|year| days(*year, 1) <= day).last().unwrap();
    let month = (1..=12).take_while(|month| days(year, *month) <= day).last().unwrap();
    let (weekday, name) = (WEEKDAYS[usize::try_from(day % 7).unwrap()], MONTHS[usize::try_from(month).unwrap() - 1]);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{weekday}, {:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT", day - days(year, month) + 1)
}

/// How long a test's calls may take, in place of `Times::AWS`.
pub const QUICK: cpt_control_aws::clients::Times = cpt_control_aws::clients::Times {
    connect: Duration::from_millis(500),
    attempt: Duration::from_millis(1000),
    call: Duration::from_millis(3000),
    report_attempt: Duration::from_millis(500),
    report_call: Duration::from_millis(1500),
    pause: Duration::from_millis(1),
    backoff: Duration::from_millis(1),
    stalled: Duration::from_secs(1),
    last_words: Duration::from_millis(500),
    ..cpt_control_aws::clients::Times::AWS
};
