//! Keys in memory, for tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::keys::{Keys, Object, Page};

/// Keys in memory, in pages of so many.
pub struct Fake {
    pub keys: Vec<String>,
    pub page: usize,
    pub asked: AtomicUsize,
    /// Each page takes so long.
    wait: Duration,
}

impl Fake {
    pub fn new(mut keys: Vec<String>, page: usize) -> Self {
        keys.sort();
        keys.dedup();
        Self { keys, page, asked: AtomicUsize::new(0), wait: Duration::ZERO }
    }

    pub fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

impl Keys for Fake {
    fn page(&self, prefix: &str, after: &str) -> Result<Page, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.wait);
        let from = self.keys.partition_point(|key| &**key <= after || &**key < prefix);
        let mut rest = self.keys[from..].iter().filter(|key| key.starts_with(prefix));
        let objects: Vec<_> = rest.by_ref().take(self.page).map(|key| object(key)).collect();
        Ok(Page { objects, is_last: rest.next().is_none() })
    }
}

/// A key that ends with a slash has no bytes, unless it says so; one that says `cold` is archived.
fn object(key: &str) -> Object {
    let size = if key.ends_with('/') && !key.contains("full") { 0 } else { 7 };
    Object { key: key.to_owned(), size, tag: 9, modified_ns: 5, archived: key.contains("cold").then_some("GLACIER") }
}
