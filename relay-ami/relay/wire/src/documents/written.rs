//! How objects are written at a destination: what S3 keeps of them beside bytes and metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::text::is_digits;

/// Where S3 keeps an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StorageClass {
    Standard,
    StandardIa,
    OnezoneIa,
    IntelligentTiering,
    GlacierIr,
    Glacier,
    DeepArchive,
}

impl StorageClass {
    /// As S3 calls it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "STANDARD",
            Self::StandardIa => "STANDARD_IA",
            Self::OnezoneIa => "ONEZONE_IA",
            Self::IntelligentTiering => "INTELLIGENT_TIERING",
            Self::GlacierIr => "GLACIER_IR",
            Self::Glacier => "GLACIER",
            Self::DeepArchive => "DEEP_ARCHIVE",
        }
    }
}

/// What S3 takes for one object.
const MOST_TAGS: usize = 10;
const LONGEST_KEY: usize = 128;
const LONGEST_VALUE: usize = 256;

/// Tags of each object, by S3's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct ObjectTags(BTreeMap<String, String>);

impl ObjectTags {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a query string, which is how a write names them.
    #[must_use]
    pub fn query(&self) -> String {
        let pairs = self.0.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

impl TryFrom<BTreeMap<String, String>> for ObjectTags {
    type Error = String;

    fn try_from(tags: BTreeMap<String, String>) -> Result<Self, String> {
        if tags.len() > MOST_TAGS {
            return Err(format!("{} tags are not {MOST_TAGS} at most", tags.len()));
        }
        for (key, value) in &tags {
            if key.is_empty() || !is_tag_text(key, LONGEST_KEY) || key.get(..4).is_some_and(|four| four.eq_ignore_ascii_case("aws:")) {
                return Err(format!(
                    "{key:?} is no key of a tag: 1 to {LONGEST_KEY} letters, digits, blanks and _.:/=+-@, not aws: at first"
                ));
            }
            if !is_tag_text(value, LONGEST_VALUE) {
                return Err(format!("{value:?} is no value of a tag: at most {LONGEST_VALUE} letters, digits, blanks and _.:/=+-@"));
            }
        }
        Ok(Self(tags))
    }
}

impl From<ObjectTags> for BTreeMap<String, String> {
    fn from(tags: ObjectTags) -> Self {
        tags.0
    }
}

fn is_tag_text(text: &str, longest: usize) -> bool {
    let is_taken = |character: char| character.is_alphanumeric() || " _.:/=+-@".contains(character);
    text.chars().count() <= longest && text.chars().all(is_taken)
}

fn encoded(text: &str) -> String {
    super::percent::encode(text.as_bytes()).replace('/', "%2F")
}

/// Whether a text is the ARN of a customer's key of KMS; an alias may lead to another key tomorrow.
pub(super) fn is_key_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let ["arn", partition, "kms", region, account, key] = parts[..] else { return false };
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let id = key.strip_prefix("key/").unwrap_or_default();
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    partition.starts_with("aws") && is_name(partition) && is_name(region) && account.len() == 12 && is_digits(account) && is_id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Result<ObjectTags, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        ObjectTags::try_from(pairs.iter().map(owned).collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn tags_are_sent_as_a_query() {
        assert_eq!(tags(&[("b c", "x/y"), ("a", "ü+=@")]).unwrap().query(), "a=%C3%BC%2B%3D%40&b%20c=x%2Fy");
        assert_eq!(tags(&[("empty", "")]).unwrap().query(), "empty=");
    }

    #[test]
    fn tags_that_s3_refuses_are_refused() {
        for (key, value) in [("", "v"), ("a&b", "v"), ("AWS:x", "v"), ("k", "a\nb"), (&*"k".repeat(129), "v"), ("k", &*"v".repeat(257))] {
            assert!(tags(&[(key, value)]).is_err(), "{key:?} {value:?}");
        }
        let many: BTreeMap<_, _> = (0..11).map(|number| (format!("k{number}"), String::new())).collect();
        assert!(ObjectTags::try_from(many).is_err());
        assert!(tags(&[(&"ü".repeat(128), &"ü".repeat(256))]).is_ok());
    }

    #[test]
    fn keys_are_named_by_their_arn() {
        assert!(is_key_arn("arn:aws-cn:kms:cn-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"));
        assert!(is_key_arn("arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-1234abcd"));
        for bad in ["alias/mine", "arn:aws-cn:kms:cn-north-1:123456789012:alias/mine", "1234abcd", "arn:aws-cn:kms:cn-north-1:12:key/a"] {
            assert!(!is_key_arn(bad), "{bad}");
        }
    }
}
