//! Reading again what is at the destination. It may be long work: each of its calls that returns is an advance.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ends::Heard;
use crate::under_way::UnderWay;

/// Tells of what is read again.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub disk: &'a UnderWay,
    /// Bytes that were read.
    pub reread: &'a AtomicU64,
}

impl Reading<'_> {
    /// Calls `read`, which says after each of its calls how many bytes that has read.
    pub fn during<T>(&self, read: impl FnOnce(Heard<'_>) -> T) -> T {
        let call = self.disk.enter();
        read(&|bytes| {
            self.reread.fetch_add(bytes, Ordering::Relaxed);
            call.goes_on();
        })
    }
}
