//! Doors for the fuzzer to what the program itself opens only behind a signature.

use crate::wire::WireError;
use crate::wire::route::RouteHeader;

pub fn decode_header(header: &[u8]) -> Result<RouteHeader, WireError> {
    RouteHeader::decode(header)
}

#[must_use]
pub fn encode_header(header: &RouteHeader) -> Vec<u8> {
    header.encode()
}
