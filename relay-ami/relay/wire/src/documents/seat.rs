//! Where a daemon works for an end of a transfer.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// What the daemon of a seat does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Receiver,
    Sender,
}

impl Role {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// `s0`, `s1` … send, `r0`, `r1` … receive. Under this id a daemon keeps what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat {
    pub role: Role,
    number: u8,
}

impl Seat {
    /// The one that sends, where there is one.
    pub const SENDER: Self = Self { role: Role::Sender, number: 0 };
    /// The one that receives, where there is one.
    pub const RECEIVER: Self = Self { role: Role::Receiver, number: 0 };

    /// Refuses text that is no seat, in words.
    pub fn new(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is no seat: 's' for a sender or 'r' for a receiver, then a number from 0 to 99");
        let role = match text.as_bytes().first() {
            Some(b's') => Role::Sender,
            Some(b'r') => Role::Receiver,
            _ => return Err(refused()),
        };
        let number = text.get(1..).and_then(|digits| digits.parse().ok()).filter(|number| *number < 100).ok_or_else(refused)?;
        let seat = Self { role, number };
        // One seat has one name: neither "s+1" nor "s01".
        if seat.to_string() == text { Ok(seat) } else { Err(refused()) }
    }
}

/// What a document means that names none.
pub(super) const fn sender() -> Seat {
    Seat::SENDER
}

/// The same of receivers.
pub(super) const fn receiver() -> Seat {
    Seat::RECEIVER
}

/// Documents do not name the first sender.
#[must_use]
pub fn is_sender(seat: &Seat) -> bool {
    *seat == Seat::SENDER
}

/// Nor the first receiver.
#[must_use]
pub fn is_receiver(seat: &Seat) -> bool {
    *seat == Seat::RECEIVER
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.role {
            Role::Sender => 's',
            Role::Receiver => 'r',
        };
        write!(f, "{letter}{}", self.number)
    }
}

impl Serialize for Seat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The lease of the finish that a receiver has closed for: senders of one start have one epoch, so that alone would not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClosedFor {
    /// The sender that finishes.
    pub seat: Seat,
    pub epoch: u64,
    /// The receiver that it finishes with.
    pub receiver: Seat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seat_has_one_name() {
        for text in ["s0", "r0", "s15", "r99"] {
            assert_eq!(Seat::new(text).unwrap().to_string(), text);
        }
        for text in ["", "s", "x0", "s01", "s+1", "s100", "S0", "0", "s-1", "ſ0"] {
            assert!(Seat::new(text).unwrap_err().contains("no seat"), "{text}");
        }
    }
}
