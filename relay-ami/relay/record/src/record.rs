//! The record layer of TLS 1.3 (RFC 8446, 5) after the handshake: one half seals, the other opens.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

use crate::SecureError;
use crate::outlet::Outlet;

/// Largest TLS plaintext of one record (RFC 8446, 5.1).
const RECORD_BYTES: usize = 16_384;
/// Payload of a data frame: 4 records. Its two copies, plain and sealed, stay in the inner caches while they are hashed, sealed and
/// copied: 256 KiB cost the sender a sixth more CPU time. A system call (about 1 µs) is 2 % of what the sender spends on it (54 µs).
pub const DATA_BYTES: usize = 64 << 10;
/// One key seals at most so many records, a factor of 2 below the 2^24.5 that RFC 8446 (5.5) allows AES-GCM;
/// at 16 KiB a record the lane reconnects after 190 GB.
const MAX_RECORDS: u64 = 11_600_000;
const HEADER: usize = 5;
const TAG: usize = 16;
const ALERT: u8 = 21;
const APPLICATION: u8 = 23;
/// Longest record on the wire: header, and ciphertext of at most 2^14 + 256 bytes.
const MAX_RECORD: usize = HEADER + RECORD_BYTES + 256;
/// What one call takes of what has arrived: with four data frames there are half a call for each; with one there was most of one.
const ARRIVED_BYTES: usize = 4 * DATA_BYTES;
/// Room for the plaintext of a full data frame, its header and what is left of the frame before.
pub const PLAIN_BYTES: usize = DATA_BYTES + 2 * MAX_RECORD;

/// One direction's key and its counter of records.
struct Direction {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    sequence: u64,
}

impl Direction {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> Result<Self, SecureError> {
        let (algorithm, key, iv): (&'static Algorithm, _, _) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(SecureError::Cipher),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| SecureError::Cipher)?;
        let iv = iv.as_ref().try_into().map_err(|_| SecureError::Cipher)?;
        Ok(Self { key: LessSafeKey::new(key), iv, sequence })
    }

    /// The next record's nonce: the IV xor the record's number.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, count) in nonce[NONCE_LEN - 8..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= count;
        }
        self.sequence += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The sending half.
pub struct Sealer {
    direction: Direction,
    outlet: Outlet,
    /// Small frames, gathered into full records.
    plain: Vec<u8>,
    /// Sealed records that are not written yet: the first `sealed_bytes`. Its length stays, so that nothing is zeroed twice.
    sealed: Vec<u8>,
    sealed_bytes: usize,
}

impl Sealer {
    pub fn new(secrets: (u64, ConnectionTrafficSecrets), outlet: Outlet) -> Result<Self, SecureError> {
        let sealed = vec![0; DATA_BYTES + 2 * MAX_RECORD];
        Ok(Self { direction: Direction::new(secrets)?, outlet, plain: Vec::with_capacity(2 * RECORD_BYTES), sealed, sealed_bytes: 0 })
    }

    /// Returns whether the key is near its end, so that the lane should reconnect.
    #[must_use]
    #[inline]
    pub fn is_worn(&self) -> bool {
        self.direction.sequence >= MAX_RECORDS
    }

    /// Returns where small frames are appended; `flush` or `write` sends them.
    #[inline]
    pub fn frames(&mut self) -> &mut Vec<u8> {
        &mut self.plain
    }

    /// Sends `bytes` behind the frames; large ones are sealed from where they are.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SecureError> {
        if bytes.len() < RECORD_BYTES {
            self.plain.extend_from_slice(bytes);
        }
        if self.plain.len() >= RECORD_BYTES || bytes.len() >= RECORD_BYTES {
            self.seal_plain()?;
        }
        if bytes.len() >= RECORD_BYTES {
            for piece in bytes.chunks(RECORD_BYTES) {
                self.seal(APPLICATION, piece)?;
            }
        }
        Ok(())
    }

    /// Sends all that is gathered.
    pub fn flush(&mut self) -> Result<(), SecureError> {
        self.seal_plain()?;
        self.write_out()
    }

    /// Tells the peer that nothing follows.
    pub fn close(&mut self) -> Result<(), SecureError> {
        self.seal_plain()?;
        self.seal(ALERT, &[1, 0])?;
        self.write_out()
    }

    fn seal_plain(&mut self) -> Result<(), SecureError> {
        let mut plain = std::mem::take(&mut self.plain);
        for piece in plain.chunks(RECORD_BYTES) {
            self.seal(APPLICATION, piece)?;
        }
        plain.clear();
        self.plain = plain;
        Ok(())
    }

    fn seal(&mut self, content: u8, plain: &[u8]) -> Result<(), SecureError> {
        // Acknowledgements of what was sent before `is_worn` may still go out; twice the bound is still below 2^24.5.
        if self.direction.sequence >= 2 * MAX_RECORDS {
            return Err(SecureError::Exhausted);
        }
        let length = plain.len() + 1 + TAG;
        let header = [APPLICATION, 3, 3, (length >> 8) as u8, length as u8];
        if self.sealed.len() - self.sealed_bytes < HEADER + length {
            self.write_out()?;
        }
        let record = &mut self.sealed[self.sealed_bytes..self.sealed_bytes + HEADER + length];
        self.sealed_bytes += HEADER + length;
        let (front, body) = record.split_at_mut(HEADER);
        front.copy_from_slice(&header);
        let (body, tail) = body.split_at_mut(plain.len());
        let nonce = self.direction.nonce();
        self.direction
            .key
            .seal_out_of_place_scatter(nonce, Aad::from(header), plain, body, &[content], tail)
            .map_err(|_| SecureError::Cipher)
    }

    fn write_out(&mut self) -> Result<(), SecureError> {
        self.outlet.write_paced(&self.sealed[..self.sealed_bytes])?;
        self.sealed_bytes = 0;
        Ok(())
    }
}

/// The receiving half.
pub struct Opener {
    direction: Direction,
    socket: Arc<TcpStream>,
    /// Ciphertext that has arrived: `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The peer has said that nothing follows.
    ended: bool,
}

impl Opener {
    pub fn new(secrets: (u64, ConnectionTrafficSecrets), socket: Arc<TcpStream>) -> Result<Self, SecureError> {
        Ok(Self {
            direction: Direction::new(secrets)?,
            socket,
            buffer: vec![0; ARRIVED_BYTES + MAX_RECORD],
            start: 0,
            end: 0,
            ended: false,
        })
    }

    /// Waits for a record, then writes the plaintext of all that have arrived and fit into `plain`, at least [`PLAIN_BYTES`] long.
    /// Returns its length; 0 at the peer's end of stream.
    pub fn read(&mut self, plain: &mut [u8]) -> Result<usize, SecureError> {
        let mut length = 0;
        while !self.ended {
            while let Some(cipher) = self.whole_record()? {
                if plain.len() - length < cipher {
                    return Ok(length);
                }
                match self.open(cipher, &mut plain[length..])? {
                    Some(content) => length += content,
                    None => {
                        self.ended = true;
                        return Ok(length);
                    }
                }
            }
            if length > 0 {
                return Ok(length);
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            let count = (&*self.socket).read(&mut self.buffer[self.end..])?;
            if count == 0 {
                return if self.end == 0 { Ok(0) } else { Err(SecureError::Truncated) };
            }
            self.end += count;
        }
        Ok(length)
    }

    /// Length of the ciphertext at the front, once all of it is there.
    fn whole_record(&self) -> Result<Option<usize>, SecureError> {
        let waiting = &self.buffer[self.start..self.end];
        let Some(header) = waiting.first_chunk::<HEADER>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != APPLICATION {
            return Err(SecureError::Unexpected(header[0]));
        }
        if length <= TAG || HEADER + length > MAX_RECORD {
            return Err(SecureError::Forged);
        }
        Ok((waiting.len() >= HEADER + length).then_some(length))
    }

    /// Opens the record at the front into `plain`; the length of its content, or none when the peer says that nothing follows.
    fn open(&mut self, length: usize, plain: &mut [u8]) -> Result<Option<usize>, SecureError> {
        let record = &self.buffer[self.start..self.start + HEADER + length];
        let (header, body) = record.split_at(HEADER);
        let (cipher, tag) = body.split_at(length - TAG);
        let plain = &mut plain[..cipher.len()];
        let nonce = self.direction.nonce();
        self.direction.key.open_separate_gather(nonce, Aad::from(header), cipher, tag, plain).map_err(|_| SecureError::Forged)?;
        self.start += HEADER + length;
        // The inner type is the last byte that is not padding.
        let content = plain.iter().rposition(|byte| *byte != 0).ok_or(SecureError::Forged)?;
        match plain[content] {
            APPLICATION => Ok(Some(content)),
            ALERT if plain[..content] == [1, 0] => Ok(None),
            other => Err(SecureError::Unexpected(other)),
        }
    }
}
