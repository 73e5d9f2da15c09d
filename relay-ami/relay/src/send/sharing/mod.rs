//! What a sender does where others send too, or where there are several receivers: it leases ranges of the plan one by one, writes down
//! what it has sent of each, and one of the senders finishes for all. See `docs/design/061`.

mod appetite;
mod feeder;
mod finisher;
mod finishing;
mod others;
mod own;
mod ranges;
mod retirement;
mod settling;
mod state;

pub use feeder::SharingFeeder;
pub use others::Others;
pub use own::Own;
pub use settling::Settling;
pub use state::Sharing;
