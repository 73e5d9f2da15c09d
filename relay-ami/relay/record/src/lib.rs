//! TLS 1.3 between sender and receiver. rustls makes the handshake; its traffic keys then seal and open records in
//! [`record`], so that the two directions belong to two threads and a record is encrypted from the read buffer straight
//! into the write buffer. On the wire it is ordinary TLS 1.3.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod deadline;
pub mod handshake;
pub mod keys;
pub mod outlet;
pub mod rate;
pub mod record;

/// A secure stream could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SecureError {
    #[error("no key: the random generator or the signer failed")]
    NoKey,
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("TLS negotiated a cipher that this version cannot use")]
    Cipher,
    #[error("a record does not authenticate: it was changed, repeated or reordered on the way")]
    Forged,
    #[error("record of type {0}, which this version does not expect")]
    Unexpected(u8),
    #[error("the peer closed the stream in the middle of a record")]
    Truncated,
    #[error("the key has sealed as many records as it may")]
    Exhausted,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
