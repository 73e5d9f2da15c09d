//! Percent-encoding of path bytes, as the listing and the manifest carry them.

/// Escapes all bytes but `A-Z a-z 0-9 - . _ ~ /`.
#[must_use]
#[inline]
pub fn encode(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    text
}

/// The bytes behind `text`; refuses, in words, what `encode` never writes.
#[inline]
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let pair = rest.next().and_then(hex).zip(rest.next().and_then(hex));
                let (high, low) = pair.ok_or_else(|| format!("{text:?} has a '%' without two upper-case hexadecimal digits"))?;
                bytes.push(high << 4 | low);
            }
            _ if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) => bytes.push(byte),
            _ => return Err(format!("{text:?} holds {:?}, which must be percent-encoded", char::from(byte))),
        }
    }
    Ok(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
        assert_eq!(encode("a b\n/ü".as_bytes()), "a%20b%0A/%C3%BC");
    }

    #[test]
    fn unescaped_and_broken_text_is_refused() {
        for text in ["a b", "a%2", "a%zz", "a%0a", "ü"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
