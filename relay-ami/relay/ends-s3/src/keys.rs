//! Keys in the order in which S3 lists them: that of their bytes.

use aws_sdk_s3::types::EncodingType;

use super::client::Bucket;
use super::fault::Fault;
use super::persistence::persist;

/// An object as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub key: String,
    pub size: u64,
    pub etag: String,
    /// Nanoseconds since 1970 when it was written.
    pub modified_ns: i64,
}

/// Keys that follow one another; nothing is between them.
#[derive(Clone, Debug, Default)]
pub struct Page {
    pub objects: Vec<Listed>,
    pub is_last: bool,
}

impl Bucket {
    /// Objects whose keys begin with `prefix` and come after `after`, at most so many.
    pub async fn page(&self, prefix: &str, after: Option<&str>, most: i32) -> Result<Page, Fault> {
        persist(|| async {
            let call = self
                .s3()
                .list_objects_v2()
                .bucket(&self.place().bucket)
                .prefix(prefix)
                .set_start_after(after.map(str::to_owned))
                .max_keys(most)
                .set_expected_bucket_owner(self.place().owner.clone())
                // XML has no way to write some characters that keys may have.
                .encoding_type(EncodingType::Url);
            let answer = call.send().await.map_err(|error| Fault::of(&error))?;
            let is_last = answer.is_truncated != Some(true);
            let objects = answer.contents.unwrap_or_default().into_iter().map(|object| {
                let modified_ns = object.last_modified.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or(0);
                Some(Listed {
                    key: decoded(object.key.as_deref()?)?,
                    size: object.size?.try_into().ok()?,
                    etag: object.e_tag?,
                    modified_ns,
                })
            });
            let objects: Option<Vec<_>> = objects.collect();
            Ok(Page { objects: objects.ok_or_else(|| Fault::passing(&"a listing without keys, sizes or entity tags"))?, is_last })
        })
        .await
    }

    /// All keys that begin so: for those that are known to be few.
    pub async fn all(&self, prefix: &str) -> Result<Vec<Listed>, Fault> {
        let mut found: Vec<Listed> = Vec::new();
        loop {
            let page = self.page(prefix, found.last().map(|last| last.key.as_str()), PAGE).await?;
            let is_empty = page.objects.is_empty();
            found.extend(page.objects);
            if page.is_last || is_empty {
                return Ok(found);
            }
        }
    }
}

/// The most that S3 lists at once.
pub const PAGE: i32 = 1000;

/// A key that was encoded for a listing: a blank is a plus there.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A text that comes right before a key, as far as there is one: no object is likely to be between them.
#[must_use]
pub fn before(key: &str) -> Option<String> {
    let last = key.chars().next_back()?;
    let rest = &key[..key.len() - last.len_utf8()];
    let lower = u32::from(last).checked_sub(1).map(|code| char::from_u32(code).unwrap_or('\u{d7ff}'));
    Some(match lower {
        // No character of its own comes after it: keys that begin so are none that anybody gives.
        Some(lower) if lower != '\0' => format!("{rest}{lower}\u{10ffff}"),
        _ => rest.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_a_key_is_close_to_it() {
        for (key, expected) in
            [("a/b", "a/a\u{10ffff}"), ("b", "a\u{10ffff}"), ("a/\u{1}", "a/"), ("\u{e000}", "\u{d7ff}\u{10ffff}"), ("0", "/\u{10ffff}")]
        {
            let found = before(key).unwrap();
            assert_eq!(found, expected);
            assert!(found.as_bytes() < key.as_bytes());
        }
        assert_eq!(before(""), None);
    }

    #[test]
    fn encoded_keys_are_read() {
        assert_eq!(decoded("a+b%2Bc%E2%82%AC/%01").as_deref(), Some("a b+c€/\u{1}"));
        assert_eq!(decoded("%"), None);
        assert_eq!(decoded("%FF"), None);
    }
}
