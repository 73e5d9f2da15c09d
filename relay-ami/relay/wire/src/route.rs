//! Challenge and route header: how a relay learns where a stream goes.
//!
//! The relay sends a challenge of 32 bytes. The client answers with a 16-bit length, the header and its signature:
//!
//! ```text
//! "CPTR" version:1 action:1 transfer:len16+text relay:6 next:0|1+6 milliseconds:4 | signature:64      (address: ipv4:4 port:2)
//! ```
//!
//! `relay` is what was dialled to reach the relay that shall serve the header: a challenge that somebody passes on from
//! another relay gets no answer that is of use there. The signature (Ed25519, the sender's route key) covers a domain
//! string, the challenge and the header. The actions are 1 forward, 2 sink, 3 source and 4 keepalive. The relay answers
//! with one status byte: `OK`, or why not. After `OK` of `forward` the next hop's bytes follow.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4};

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

use super::{Fields, WireError, put16};

pub type Challenge = [u8; 32];

pub const STATUS_OK: u8 = 0;
/// The next hop could not be reached.
pub const STATUS_UNREACHABLE: u8 = 1;
/// The relay could not do it; its log says why.
pub const STATUS_FAILED: u8 = 2;
/// A probe's result: bytes, then nanoseconds, 8 bytes each.
pub const RESULT_BYTES: usize = 16;
/// Longest header: fixed fields, a transfer id of 80, two addresses, a signature.
pub const MAX_HEADER_BYTES: usize = 4 + 1 + 1 + 2 + 80 + 6 + 1 + 6 + 4 + SIGNATURE_BYTES;

const MAGIC: &[u8; 4] = b"CPTR";
const VERSION: u8 = 3;
const DOMAIN: &[u8] = b"cpt route header 3\0";
const SIGNATURE_BYTES: usize = 64;

/// A relay's task for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Dial the next address and pass bytes both ways.
    Forward(SocketAddrV4),
    /// Read and count for so long, answer with the count.
    Sink { milliseconds: u32 },
    /// Dial the next address, hand its challenge back, then send filler for so long.
    Source { next: SocketAddrV4, milliseconds: u32 },
    /// Stay: the relay's time-to-live begins anew. Nothing follows the status.
    Keepalive,
    /// Power the relay's machine off at once: nobody pays for it any more. Nothing follows the status.
    PowerOff,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteHeader {
    pub transfer: String,
    /// The relay that it is for, as it was dialled.
    pub relay: SocketAddrV4,
    pub action: Action,
}

/// Reads what follows a challenge: a length, then so many bytes of header and signature, which it returns.
pub fn read_signed(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > MAX_HEADER_BYTES {
        let why = format!("a route header of {length} bytes; at most {MAX_HEADER_BYTES} are possible");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let mut signed = vec![0; length];
    from.read_exact(&mut signed)?;
    Ok(signed)
}

impl RouteHeader {
    pub fn encode(&self) -> Vec<u8> {
        let (action, next, milliseconds) = match self.action {
            Action::Forward(next) => (1, Some(next), 0),
            Action::Sink { milliseconds } => (2, None, milliseconds),
            Action::Source { next, milliseconds } => (3, Some(next), milliseconds),
            Action::Keepalive => (4, None, 0),
            Action::PowerOff => (5, None, 0),
        };
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&[VERSION, action]);
        put16(&mut out, self.transfer.as_bytes());
        put_address(&mut out, self.relay);
        out.push(u8::from(next.is_some()));
        if let Some(next) = next {
            put_address(&mut out, next);
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

    /// Checks that one of the keys has signed what follows the length, then reads the header. Nothing unsigned is looked at.
    pub fn verify(signed: &[u8], challenge: &Challenge, route_keys: &[[u8; 32]]) -> Result<Self, WireError> {
        let at = signed.len().checked_sub(SIGNATURE_BYTES);
        let (header, signature) = signed.split_at_checked(at.unwrap_or(usize::MAX)).ok_or(WireError::Short {
            what: "route header",
            have: signed.len(),
            need: SIGNATURE_BYTES,
        })?;
        let bytes = signed_bytes(challenge, header);
        let is_signed_by = |key: &[u8; 32]| UnparsedPublicKey::new(&ED25519, key).verify(&bytes, signature).is_ok();
        if !route_keys.iter().any(is_signed_by) {
            return Err(WireError::BadSignature);
        }
        Self::decode(header)
    }

    /// For headers whose signature is right.
    pub fn decode(header: &[u8]) -> Result<Self, WireError> {
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
        let relay = address(&mut fields)?;
        let next = match fields.u8()? {
            0 => None,
            1 => Some(address(&mut fields)?),
            count => return Err(WireError::Unknown { what: "number of next hops", value: count.into() }),
        };
        let milliseconds = fields.u32()?;
        fields.end()?;
        let action = match (action, next) {
            (1, Some(next)) if milliseconds == 0 => Action::Forward(next),
            (2, None) => Action::Sink { milliseconds },
            (3, Some(next)) => Action::Source { next, milliseconds },
            (4, None) if milliseconds == 0 => Action::Keepalive,
            (5, None) if milliseconds == 0 => Action::PowerOff,
            (other, _) => return Err(WireError::Unknown { what: "action (with its address and time)", value: other.into() }),
        };
        Ok(Self { transfer, relay, action })
    }
}

fn put_address(out: &mut Vec<u8>, address: SocketAddrV4) {
    out.extend_from_slice(&address.ip().octets());
    out.extend_from_slice(&address.port().to_be_bytes());
}

fn address(fields: &mut Fields<'_>) -> Result<SocketAddrV4, WireError> {
    Ok(SocketAddrV4::new(Ipv4Addr::from(fields.array::<4>()?), fields.u16()?))
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
        let relay = "10.1.0.9:4600".parse().unwrap();
        RouteHeader { transfer: "t-1".to_owned(), relay, action: Action::Forward("10.1.2.3:4600".parse().unwrap()) }
    }

    #[test]
    fn golden_bytes() {
        let text = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let golden = |action: &str, next: &str, time: &str| ["4350545203", action, "0003742d31", "0a01000911f8", next, time].concat();
        assert_eq!(text(&header().encode()), golden("01", "010a01020311f8", "00000000"));
        let sink = RouteHeader { action: Action::Sink { milliseconds: 1500 }, ..header() };
        assert_eq!(text(&sink.encode()), golden("02", "00", "000005dc"));
        let source = RouteHeader { action: Action::Source { next: "10.1.2.3:4600".parse().unwrap(), milliseconds: 1500 }, ..header() };
        assert_eq!(text(&source.encode()), golden("03", "010a01020311f8", "000005dc"));
        let keepalive = RouteHeader { action: Action::Keepalive, ..header() };
        assert_eq!(text(&keepalive.encode()), golden("04", "00", "00000000"));
        let power_off = RouteHeader { action: Action::PowerOff, ..header() };
        assert_eq!(text(&power_off.encode()), golden("05", "00", "00000000"));
        // Ed25519 is deterministic: the whole answer to a challenge is golden.
        let signed = header().sign(&[1; 32], &key().0);
        assert_eq!(text(&signed[..2]), "005c");
        assert_eq!(text(&signed[2..signed.len() - SIGNATURE_BYTES]), text(&header().encode()));
        let signature = "965e599f90f8ce4611d3a764fb14f41a4113e7f369734787863dce271f97874c\
                         969168f8d7141c42cd6f21d37d6942b23eefe48e5c09c93476b216963b45360e";
        assert_eq!(text(&signed[signed.len() - SIGNATURE_BYTES..]), signature);
    }

    #[test]
    fn a_header_that_names_a_time_for_what_has_none_is_refused() {
        // Found by fuzzing: the time was ignored, so that one header had many forms.
        let others = [Action::Keepalive, Action::PowerOff].map(|action| RouteHeader { action, ..header() });
        for right in [header()].into_iter().chain(others) {
            let mut header = right.encode();
            *header.last_mut().unwrap() = 1;
            assert!(matches!(RouteHeader::decode(&header), Err(WireError::Unknown { .. })), "{right:?}");
        }
    }

    #[test]
    fn a_signed_header_is_read_back_and_any_change_is_refused() {
        let (key, public) = key();
        let signed = header().sign(&[1; 32], &key);
        assert_eq!(RouteHeader::verify(&signed[2..], &[1; 32], &[public]), Ok(header()));
        assert_eq!(RouteHeader::verify(&signed[2..], &[2; 32], &[public]), Err(WireError::BadSignature), "replayed on another challenge");
        for at in 2..signed.len() {
            let mut bent = signed.clone();
            bent[at] ^= 1;
            assert_eq!(RouteHeader::verify(&bent[2..], &[1; 32], &[public]), Err(WireError::BadSignature), "byte {at}");
        }
        assert!(RouteHeader::verify(&signed[2..40], &[1; 32], &[public]).is_err());
    }
}
