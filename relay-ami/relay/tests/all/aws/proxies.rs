//! A machine whose only way to AWS is a proxy.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use aws_sdk_dynamodb::config::Credentials;
use cpt_control_aws::aws::Aws;
use cpt_control_aws::clients::Setup;
use cpt_control_aws::proxy;
use cpt_relay::control::Control;
use cpt_relay::stop::Stop;

use super::cloud::QUICK;
use super::place;

/// The first line that a proxy gets when AWS is at `endpoint`; the proxy hangs up at once.
fn asked_for(endpoint: &str, not_by_proxy: &str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    });
    let credentials = Credentials::new("key", "secret", None, None, "test");
    let found = proxy::from(|name| match name {
        "HTTPS_PROXY" => Some(address.clone()),
        "NO_PROXY" => Some(not_by_proxy.to_owned()),
        _ => None,
    });
    let setup = Setup { proxy: found.unwrap(), ..Setup::at(endpoint.to_owned(), credentials, QUICK) };
    let aws = Aws::new(&place(), &Stop::new().unwrap(), &setup).unwrap();
    aws.fenced().unwrap_err();
    if !heard.is_finished() {
        // Nobody came: end the thread by a visit.
        std::net::TcpStream::connect(address.trim_start_matches("http://")).ok();
    }
    Some(heard.join().unwrap()).filter(|line| !line.is_empty())
}

#[test]
fn services_are_called_through_the_proxy_which_resolves_their_names() {
    assert_eq!(asked_for("https://aws.invalid", "").as_deref(), Some("CONNECT aws.invalid:443 HTTP/1.1"));
}

#[test]
fn what_no_proxy_names_and_what_is_no_https_goes_straight_there() {
    assert_eq!(asked_for("https://aws.invalid", "localhost,.invalid"), None);
    assert_eq!(asked_for("http://aws.invalid", ""), None);
}
