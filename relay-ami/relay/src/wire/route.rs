//! Challenge and route header: how a relay learns where a stream goes.
//!
//! The relay sends a challenge of 32 bytes. The client answers with a 16-bit length, the header and its signature:
//!
//! ```text
//! "CPTR" version:1 action:1 transfer:len16+text family:1 [ipv4:4 port:2] milliseconds:4 | signature:64
//! ```
//!
//! The signature (Ed25519, the sender's route key) covers a domain string, the challenge and the header. The relay
//! answers with one status byte: `OK`, or why not. After `OK` of `forward` the next hop's bytes follow.

use std::net::{Ipv4Addr, SocketAddrV4};

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

use super::{Fields, WireError, put16};

pub type Challenge = [u8; 32];

pub const STATUS_OK: u8 = 0;
/// The next hop could not be reached.
pub const STATUS_UNREACHABLE: u8 = 1;
/// A probe's result: bytes, then nanoseconds, 8 bytes each.
pub const RESULT_BYTES: usize = 16;
/// Longest header: fixed fields, a transfer id of 80, an address, a signature.
pub const MAX_HEADER_BYTES: usize = 4 + 1 + 1 + 2 + 80 + 1 + 6 + 4 + SIGNATURE_BYTES;

const MAGIC: &[u8; 4] = b"CPTR";
const VERSION: u8 = 1;
const DOMAIN: &[u8] = b"cpt route header 1\0";
const SIGNATURE_BYTES: usize = 64;

/// What a relay shall do with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Dial the next address and pass bytes both ways.
    Forward(SocketAddrV4),
    /// Read and count for so long, answer with the count.
    Sink { milliseconds: u32 },
    /// Dial the next address, hand its challenge back, then send filler for so long.
    Source { next: SocketAddrV4, milliseconds: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteHeader {
    pub transfer: String,
    pub action: Action,
}

impl RouteHeader {
    fn encode(&self) -> Vec<u8> {
        let (action, next, milliseconds) = match self.action {
            Action::Forward(next) => (1, Some(next), 0),
            Action::Sink { milliseconds } => (2, None, milliseconds),
            Action::Source { next, milliseconds } => (3, Some(next), milliseconds),
        };
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&[VERSION, action]);
        put16(&mut out, self.transfer.as_bytes());
        match next {
            Some(address) => {
                out.push(4);
                out.extend_from_slice(&address.ip().octets());
                out.extend_from_slice(&address.port().to_be_bytes());
            }
            None => out.push(0),
        }
        out.extend_from_slice(&u32::to_be_bytes(milliseconds));
        out
    }

    /// The answer to `challenge`: length, header, signature.
    #[must_use]
    pub fn sign(&self, challenge: &Challenge, key: &Ed25519KeyPair) -> Vec<u8> {
        let header = self.encode();
        let signature = key.sign(&signed_bytes(challenge, &header));
        let mut out = Vec::new();
        put16(&mut out, &[&header, signature.as_ref()].concat());
        out
    }

    /// Checks the signature over what follows the length, then reads the header. Nothing unsigned is looked at.
    pub fn verify(signed: &[u8], challenge: &Challenge, route_key: &[u8; 32]) -> Result<Self, WireError> {
        let at = signed.len().checked_sub(SIGNATURE_BYTES);
        let (header, signature) = signed.split_at_checked(at.unwrap_or(usize::MAX)).ok_or(WireError::Short {
            what: "route header",
            have: signed.len(),
            need: SIGNATURE_BYTES,
        })?;
        UnparsedPublicKey::new(&ED25519, route_key)
            .verify(&signed_bytes(challenge, header), signature)
            .map_err(|_| WireError::BadSignature)?;
        Self::decode(header)
    }

    fn decode(header: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields::new("route header", header);
        if &fields.array::<4>()? != MAGIC {
            return Err(WireError::Unknown { what: "magic of the route header", value: 0 });
        }
        let version = fields.u8()?;
        if version != VERSION {
            return Err(WireError::Unknown { what: "version of the route header", value: version.into() });
        }
        let action = fields.u8()?;
        let transfer = fields.text16()?;
        let next = match fields.u8()? {
            0 => None,
            4 => Some(SocketAddrV4::new(Ipv4Addr::from(fields.array::<4>()?), fields.u16()?)),
            family => return Err(WireError::Unknown { what: "address family", value: family.into() }),
        };
        let milliseconds = fields.u32()?;
        fields.end()?;
        let action = match (action, next) {
            (1, Some(next)) => Action::Forward(next),
            (2, None) => Action::Sink { milliseconds },
            (3, Some(next)) => Action::Source { next, milliseconds },
            (other, _) => return Err(WireError::Unknown { what: "action (with its address)", value: other.into() }),
        };
        Ok(Self { transfer, action })
    }
}

fn signed_bytes(challenge: &Challenge, header: &[u8]) -> Vec<u8> {
    [DOMAIN, challenge, header].concat()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::KeyPair as _;

    use super::*;

    fn key() -> (Ed25519KeyPair, [u8; 32]) {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let public = key.public_key().as_ref().try_into().unwrap();
        (key, public)
    }

    fn header() -> RouteHeader {
        RouteHeader { transfer: "t-1".to_owned(), action: Action::Forward("10.1.2.3:4600".parse().unwrap()) }
    }

    #[test]
    fn golden_bytes() {
        let text = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(text(header().encode()), "435054520101".to_owned() + "0003742d31" + "040a01020311f8" + "00000000");
        let sink = RouteHeader { transfer: "t-1".to_owned(), action: Action::Sink { milliseconds: 1500 } };
        assert_eq!(text(sink.encode()), "435054520102".to_owned() + "0003742d31" + "00" + "000005dc");
        let source = RouteHeader { action: Action::Source { next: "10.1.2.3:4600".parse().unwrap(), milliseconds: 1500 }, ..sink };
        assert_eq!(text(source.encode()), "435054520103".to_owned() + "0003742d31" + "040a01020311f8" + "000005dc");
        let signed = header().sign(&[1; 32], &key().0);
        assert_eq!(text(signed[..2].to_vec()), "0056");
        assert_eq!(signed.len(), 2 + 0x56);
    }

    #[test]
    fn a_signed_header_is_read_back_and_any_change_is_refused() {
        let (key, public) = key();
        let signed = header().sign(&[1; 32], &key);
        assert_eq!(RouteHeader::verify(&signed[2..], &[1; 32], &public), Ok(header()));
        assert_eq!(RouteHeader::verify(&signed[2..], &[2; 32], &public), Err(WireError::BadSignature), "replayed on another challenge");
        for at in 2..signed.len() {
            let mut bent = signed.clone();
            bent[at] ^= 1;
            assert_eq!(RouteHeader::verify(&bent[2..], &[1; 32], &public), Err(WireError::BadSignature), "byte {at}");
        }
        assert!(RouteHeader::verify(&signed[2..40], &[1; 32], &public).is_err());
    }
}
