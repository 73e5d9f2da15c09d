//! Credentials of a bucket's seat: asked for, unsealed, renewed; and what is said where none come.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cpt_control_aws::credentials::{Holder, Missing, SeatCredentials, Times};
use cpt_relay::control::Seat;
use cpt_relay::documents::text::TransferId;
use cpt_relay::stop::Stop;
use cpt_relay::transport::peer;
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_256 as SUITE;
use rustls::crypto::hpke::{Hpke as _, HpkePublicKey};
use serde_json::json;

use super::cloud::{Cloud, Fault, QUICK};
use super::{BEYOND_RETRIES, PARTITION, client};
use crate::harness::wait_for;

/// In place of `Times::USUAL`; nothing is late before a busy machine has had its time.
const SOON: Times = Times {
    look: Duration::from_millis(5),
    again: Duration::from_millis(50),
    late: Duration::from_secs(30),
    renewal: Duration::from_secs(900),
    refused: Duration::from_millis(50),
};
const AT_ONCE: Times = Times { late: Duration::from_millis(200), ..SOON };

fn until(what: &str, is_so: impl Fn() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

struct Scene {
    cloud: Cloud,
    credentials: SeatCredentials,
    stop: Stop,
}

impl Scene {
    fn asking(cloud: Cloud, times: Times) -> Self {
        let stop = Stop::new().unwrap();
        let transfer = serde_json::from_value::<TransferId>(json!("t-1")).unwrap();
        let holder = Holder { transfer, seat: Seat::RECEIVER, epoch: Some(65_536) };
        let control = Arc::new(client(&cloud, &stop, QUICK));
        let credentials = SeatCredentials::ask(control, holder, &stop, times).unwrap();
        Self { cloud, credentials, stop }
    }

    /// The name under which it asks, once it does.
    fn holder(&self) -> String {
        until("event", || !self.cloud.events("Credentials Wanted").is_empty());
        let event = self.cloud.events("Credentials Wanted").remove(0);
        assert_eq!((&event["transferId"], &event["seat"], &event["schemaVersion"]), (&json!("t-1"), &json!("r0"), &json!(1)));
        format!("r0-{}", event["process"].as_str().unwrap())
    }

    fn key(&self) -> Vec<u8> {
        let record = format!("sealing#{}", self.holder());
        let item = self.cloud.item("transfers", ["transferId", "record"], [PARTITION, &record]).unwrap();
        assert_eq!(item["epoch"], json!({"N": "65536"}));
        peer::route_key_from_text(item["sealingPublicKey"]["S"].as_str().unwrap()).unwrap().to_vec()
    }

    fn write(&self, mut record: serde_json::Value) {
        record["transferId"] = json!(PARTITION);
        record["record"] = json!(format!("credentials#{}", self.holder()));
        self.cloud.put_item("transfers", ["transferId", "record"], &record);
    }

    /// What the function writes.
    fn issue(&self, id: &str, seconds: f64) {
        self.issue_to(&self.key(), &self.holder(), id, seconds);
    }

    fn issue_to(&self, key: &[u8], holder: &str, id: &str, seconds: f64) {
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() + seconds;
        let keys = json!({"accessKeyId": id, "secretAccessKey": "secret", "sessionToken": "token", "expiresAt": until});
        let info = format!("cpt seat credentials 1\n{PARTITION}\n{holder}");
        let (encapsulated, text) = SUITE.seal(info.as_bytes(), &[], keys.to_string().as_bytes(), &HpkePublicKey(key.to_vec())).unwrap();
        self.write(json!({"sealed": peer::to_text(&[encapsulated.0, text].concat()), "expiresAt": until}));
    }

    /// What a client is given, or why not.
    fn given(&self) -> Result<String, Missing> {
        self.credentials.wait().map(|keys| keys.access_key_id().to_owned())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.request();
    }
}

#[test]
fn a_seat_is_given_what_is_sealed_to_its_process() {
    let scene = Scene::asking(Cloud::start(), SOON);
    scene.issue("first", 3600.0);
    let keys = scene.credentials.wait().unwrap();
    assert_eq!((keys.access_key_id(), keys.secret_access_key(), keys.session_token()), ("first", "secret", Some("token")));
    assert!(keys.expiry().unwrap() > SystemTime::now() + Duration::from_secs(3500));
    assert_eq!(format!("{:?}", scene.credentials), "SeatCredentials");
}

#[test]
fn an_event_that_is_lost_is_put_again() {
    let scene = Scene::asking(Cloud::start(), SOON);
    until("event", || scene.cloud.events("Credentials Wanted").len() >= 3);
    scene.issue("first", 3600.0);
    assert_eq!(scene.given(), Ok("first".to_owned()));
}

#[test]
fn a_control_plane_in_trouble_only_delays_them() {
    let cloud = Cloud::start();
    for operation in ["UpdateItem", "GetItem", "PutEvents"] {
        cloud.spoil(operation, "", BEYOND_RETRIES, Fault::Status(500, "InternalServerError"));
    }
    let scene = Scene::asking(cloud, SOON);
    scene.issue("first", 3600.0);
    assert_eq!(scene.given(), Ok("first".to_owned()));
}

#[test]
fn they_are_renewed_before_they_end_and_those_that_are_there_count_meanwhile() {
    let scene = Scene::asking(Cloud::start(), SOON);
    scene.issue("first", 600.0); // ends before the quarter of an hour in which others are asked for
    assert_eq!(scene.given(), Ok("first".to_owned()));
    let asked = scene.cloud.events("Credentials Wanted").len();
    until("event", || scene.cloud.events("Credentials Wanted").len() > asked);
    assert_eq!(scene.given(), Ok("first".to_owned()));
    scene.issue("second", 3600.0);
    until("credentials", || scene.given() == Ok("second".to_owned()));
}

#[test]
fn a_refusal_is_said_in_its_own_words_until_it_is_mended() {
    let scene = Scene::asking(Cloud::start(), AT_ONCE);
    scene.write(json!({"refused": "this deployment may not write there"}));
    let refused = Missing::Refused("this deployment may not write there".to_owned());
    assert_eq!(scene.given(), Err(refused.clone()));
    let asked = scene.cloud.events("Credentials Wanted").len();
    until("event", || scene.cloud.events("Credentials Wanted").len() > asked + 2);
    assert_eq!(scene.given(), Err(refused));
    scene.issue("first", 3600.0);
    until("credentials", || scene.given() == Ok("first".to_owned()));
}

#[test]
fn where_none_come_it_is_said_what_is_missing() {
    let scene = Scene::asking(Cloud::start(), AT_ONCE);
    let why = scene.given().unwrap_err().to_string();
    assert!(why.contains("no credentials for the bucket came within") && why.contains("cpt-issue-credentials has not answered"), "{why}");
    // They are waited for all the same.
    scene.issue("first", 3600.0);
    until("credentials", || scene.given() == Ok("first".to_owned()));
}

#[test]
fn what_is_sealed_to_another_process_or_holder_is_not_taken() {
    let scene = Scene::asking(Cloud::start(), AT_ONCE);
    let other = SUITE.generate_key_pair().unwrap().0.0;
    scene.issue_to(&other, &scene.holder(), "stolen", 3600.0);
    let why = scene.given().unwrap_err().to_string();
    assert!(why.contains("is not sealed to this process"), "{why}");
    scene.issue_to(&scene.key(), "s0-0123456789abcdef", "moved", 3600.0);
    assert!(scene.given().is_err());
    scene.issue("own", 3600.0);
    until("credentials", || scene.given() == Ok("own".to_owned()));
}

#[test]
fn whoever_waits_learns_of_the_stop() {
    let scene = Scene::asking(Cloud::start(), SOON);
    let told = scene.stop.clone();
    scene.holder();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| scene.given());
        told.request();
        assert!(matches!(waits.join().unwrap(), Err(Missing::Late { .. })));
    });
}
