//! What the sender's growth of lanes knows of sockets, for paths that are made up.

pub mod socket_options {
    /// What the kernel would have counted of connections since they began.
    #[derive(Clone, Copy, Debug)]
    pub struct Counters {
        pub busy_us: u64,
        pub send_buffer_limited_us: u64,
    }

    impl Counters {
        /// What came since; none where connections are others.
        pub const fn since(self, before: Self) -> Option<Self> {
            match (self.busy_us.checked_sub(before.busy_us), self.send_buffer_limited_us.checked_sub(before.send_buffer_limited_us)) {
                (Some(busy_us), Some(send_buffer_limited_us)) => Some(Self { busy_us, send_buffer_limited_us }),
                _ => None,
            }
        }

        /// Share of the time under way in which the send buffer was full.
        pub const fn send_buffer_limited(self) -> f64 {
            if self.busy_us == 0 { 0.0 } else { self.send_buffer_limited_us as f64 / self.busy_us as f64 }
        }
    }
}
