//! A line of a list of keys.

use serde::Deserialize;

/// S3's own bound of a key, and of the id of a version.
const MOST_TEXT_BYTES: usize = 1024;
const MOST_SEQUENCER_BYTES: usize = 64;
/// What a JSON number keeps exactly.
const MOST_OBJECT_BYTES: u64 = (1 << 53) - 1;

/// An object of a bucket that is moved. What stands beside its key is what an event said of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyEntry {
    /// All of it, the prefix of the source included.
    pub key: String,
    #[serde(default)]
    pub version_id: Option<String>,
    /// Bytes.
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default)]
    pub etag: Option<String>,
    #[serde(default)]
    pub sequencer: Option<String>,
}

impl KeyEntry {
    /// Reads one line; the refusal names the field.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let entry: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let within = |name: &str, text: &str| {
            let right = (1..=MOST_TEXT_BYTES).contains(&text.len());
            if right { Ok(()) } else { Err(format!("{name} has {} bytes; it must have 1 to {MOST_TEXT_BYTES}", text.len())) }
        };
        within("key", &entry.key)?;
        entry.version_id.iter().try_for_each(|version| within("versionId", version))?;
        if let Some(etag) = &entry.etag {
            within("etag", etag)?;
            if etag.contains('"') {
                return Err(format!("etag is {etag:?}; it stands without quotes"));
            }
        }
        if let Some(size) = entry.size.filter(|size| *size > MOST_OBJECT_BYTES) {
            return Err(format!("size is {size}; it is {MOST_OBJECT_BYTES} at most"));
        }
        let is_upper_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte));
        match entry.sequencer.as_deref() {
            Some(text) if text.is_empty() || text.len() > MOST_SEQUENCER_BYTES || !is_upper_hex(text) => {
                Err(format!("sequencer is {text:?}; it has 1 to {MOST_SEQUENCER_BYTES} digits of upper-case hexadecimal"))
            }
            _ => Ok(entry),
        }
    }
}
