//! Streams with keys that are known, for golden bytes and fuzzing.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::ConnectionTrafficSecrets;
use rustls::crypto::cipher::{AeadKey, Iv};

use cpt_relay::rate::RateRules;
use cpt_relay::secure::SecureError;
use cpt_relay::secure::outlet::Outlet;
use cpt_relay::secure::record::{Opener, Sealer};

fn secrets() -> (u64, ConnectionTrafficSecrets) {
    (0, ConnectionTrafficSecrets::Chacha20Poly1305 { key: AeadKey::from([7; 32]), iv: Iv::from([9; 12]) })
}

pub fn sealer(socket: TcpStream) -> Result<Sealer, SecureError> {
    Sealer::new(secrets(), Outlet::new(socket, &RateRules::default(), None))
}

/// Opens what [`sealer`] seals.
pub fn opener(socket: TcpStream) -> Result<Opener, SecureError> {
    Opener::new(secrets(), Arc::new(socket))
}
