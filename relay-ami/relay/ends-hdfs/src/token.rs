//! A delegation token of HDFS, as `hdfs fetchdt` writes it: the `Credentials` of Hadoop, version 0, and in it the identifier of an
//! `AbstractDelegationTokenIdentifier`. A number is a `WritableUtils.writeVLong`, a text a number of bytes and these.

use std::fmt;
use std::time::{Duration, SystemTime};

const MAGIC: &[u8] = b"HDTS";
const VERSION: u8 = 0;
const KIND: &str = "HDFS_DELEGATION_TOKEN";

/// What a name node has given to its owner. Whoever has the password is taken for him, so it is in no text.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub(crate) identifier: Vec<u8>,
    pub(crate) password: Vec<u8>,
    /// The principal, as the name node knows it: `etl@EXAMPLE.COM`.
    owner: String,
    /// Whom the owner stood for when it was given; mostly empty.
    real_user: String,
    /// After that it is not renewed, milliseconds since 1970.
    most_ms: u64,
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token of {}", self.owner)
    }
}

impl Token {
    /// The one token of HDFS that a file has. Errors say what is wrong with it, and show none of its bytes.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        let rest = file.strip_prefix(MAGIC).ok_or("it does not begin as a file of tokens does")?;
        let mut reader = Reader(rest);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(format!("it has format {version}; {VERSION} is known"));
        }
        let mut found = None;
        for _ in 0..reader.number()? {
            let _alias = reader.bytes()?;
            let (identifier, password) = (reader.bytes()?, reader.bytes()?);
            let (kind, _service) = (reader.text()?, reader.text()?);
            if kind == KIND && found.replace((identifier, password)).is_some() {
                return Err("it has more than one token of HDFS".to_owned());
            }
        }
        let (identifier, password) = found.ok_or("it has no token of HDFS")?;
        let mut reader = Reader(identifier);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(format!("its token has format {version}; {VERSION} is known"));
        }
        let (owner, _renewer, real_user) = (reader.text()?, reader.text()?, reader.text()?);
        let _issued = reader.number()?;
        let most_ms = reader.number()?;
        Ok(Self { identifier: identifier.to_vec(), password: password.to_vec(), owner, real_user, most_ms })
    }

    /// Fails unless its owner is this user of HDFS, himself.
    pub fn check_owner(&self, user: &str) -> Result<(), String> {
        let Self { owner, real_user, .. } = self;
        if !real_user.is_empty() {
            return Err(format!("user is {user}, and the token is {owner}'s by {real_user}: it should be of {user} alone"));
        }
        let name = self.owner_name();
        if name == user { Ok(()) } else { Err(format!("user is {user}, and the token is {owner}'s: it should be {name}")) }
    }

    /// The user of HDFS that its owner is: what comes before the first `/` or `@` of his principal.
    #[must_use]
    pub fn owner_name(&self) -> &str {
        self.owner.split(['/', '@']).next().unwrap_or_default()
    }

    /// How long it can still be renewed.
    #[must_use]
    pub fn left(&self, now: SystemTime) -> Duration {
        let most = SystemTime::UNIX_EPOCH + Duration::from_millis(self.most_ms);
        most.duration_since(now).unwrap_or_default()
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("it ends in the middle")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// One from -112 on is a byte; of others the first byte says how many follow. None of these files has one below zero.
    fn number(&mut self) -> Result<u64, String> {
        let first = self.byte()?.cast_signed();
        if first >= 0 {
            return Ok(u64::from(first.unsigned_abs()));
        }
        let length = match first {
            -120..=-113 => usize::from((-112 - first).unsigned_abs()),
            _ => return Err("it has a number below zero".to_owned()),
        };
        Ok(self.take(length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn bytes(&mut self) -> Result<&'a [u8], String> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        self.take(length)
    }

    fn text(&mut self) -> Result<String, String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| "it has a text that is not UTF-8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Of `hdfs fetchdt --renewer etl` of Hadoop 3.4.3, as etl@CPT.TEST.
    const FETCHED: &str = "SERUUwABDzEyNy4wLjAuMTo0NTY1OSMADGV0bEBDUFQuVEVTVANldGwAigGiLc1oBYoBolHZ7AUBAhTL5Yx9PM/Ajqi4nVK01EEXgDHb\
                           uBVIREZTX0RFTEVHQVRJT05fVE9LRU4PMTI3LjAuMC4xOjQ1NjU5AA==";

    fn fetched() -> Vec<u8> {
        STANDARD.decode(FETCHED).unwrap()
    }

    #[test]
    fn a_token_of_hadoop_tells_its_owner_and_its_end() {
        let token = Token::parse(&fetched()).unwrap();
        token.check_owner("etl").unwrap();
        assert_eq!((token.password.len(), token.most_ms), (20, 1_796_669_565_957));
        let week = SystemTime::UNIX_EPOCH + Duration::from_millis(token.most_ms) - Duration::from_secs(60);
        assert_eq!(token.left(week), Duration::from_secs(60));
        assert_eq!(format!("{token:?}"), "Token of etl@CPT.TEST", "no secret in any text");
    }

    #[test]
    fn a_token_of_another_user_is_refused_with_both_names() {
        let mut token = Token::parse(&fetched()).unwrap();
        let why = token.check_owner("admin").unwrap_err();
        assert!(why.contains("user is admin") && why.contains("etl@CPT.TEST"), "{why}");
        assert!(token.check_owner("et").is_err());
        token.real_user = "oozie".to_owned();
        assert!(token.check_owner("etl").unwrap_err().contains("oozie"));
    }

    #[test]
    fn a_file_that_is_cut_or_of_another_kind_is_refused() {
        let whole = fetched();
        // The last byte says that there are no further secrets, which nobody asks for.
        for length in 0..whole.len() - 1 {
            assert!(Token::parse(&whole[..length]).is_err(), "{length} bytes");
        }
        let mut other = whole.clone();
        other[4] = 1;
        assert!(Token::parse(&other).unwrap_err().contains("format 1"));
        let text = String::from_utf8_lossy(&whole).replace(KIND, "KMS_DELEGATION_TOKENX");
        assert!(Token::parse(text.as_bytes()).is_err());
    }
}
