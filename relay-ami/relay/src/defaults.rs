//! Numbers, each with its reason.

use std::time::Duration;

/// Longest wait for a TCP connection. A SYN is repeated after 1 and 3 s; two repeats must fit.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for one step of a handshake: four round trips across three hops of 300 ms each, and a relay's dial.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// First keepalive after so long of silence, and the pause between the next: a vanished peer is noticed within 10 + 3 × 5 = 25 s.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const KEEPALIVE_PROBES: u32 = 3;
/// Sent bytes that stay unacknowledged so long break the connection. It counts for a living peer whose window is closed too,
/// so it must outlast a receiver's slowest sync: 1 024 chunks of 8 MiB at 125 MB/s are 69 s. Keepalives find idle dead peers sooner.
pub const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(90);

/// A relay's unauthenticated connections: four times the lanes of the largest transfer (64 pairs × 8 lanes share 64 relays).
pub const MAX_UNAUTHENTICATED: usize = 64;
/// A relay gives a header so long: one round trip of the longest path (300 ms) and two lost packets (1 + 3 s).
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A relay's pipe: the most that an unprivileged process may ask for; less only means more system calls.
pub const PIPE_BYTES: usize = 1 << 20;
/// Threads hold small stacks, since buffers are on the heap.
pub const STACK_BYTES: usize = 256 << 10;

/// Largest TLS plaintext of one record (RFC 8446, 5.1).
pub const RECORD_BYTES: usize = 16_384;
/// Payload of a data frame: 16 records, large enough that a system call (about 1 µs) is below 1 % of sealing it (50 µs).
pub const DATA_BYTES: usize = 256 << 10;
/// Largest frame of metadata: two paths of 4096 bytes and fixed fields.
pub const MAX_FRAME_BYTES: usize = DATA_BYTES;
/// One key seals at most so many records, a factor of 2 below the 2^24.5 that RFC 8446 (5.5) allows AES-GCM;
/// at 16 KiB a record the lane reconnects after 190 GB.
pub const MAX_RECORDS: u64 = 11_600_000;

/// Chunks of a lane that wait for their acknowledgement. The receiver syncs five times a second: at 1 GB/s and 8 MiB a
/// chunk, 24 are under way; 64 leaves room for round trips of 300 ms.
pub const LANE_WINDOW: usize = 64;
/// A receiver syncs at most so often: more would turn large writes into small ones.
pub const SYNC_INTERVAL: Duration = Duration::from_millis(200);
/// Verified chunks that wait for their sync; beyond it lanes stop reading. 64 lanes × `LANE_WINDOW` would be 4096.
pub const COMMIT_QUEUE: usize = 1024;
/// Concurrent writes to the table: at 150 ms across regions 32 give 210 chunks/s.
pub const TABLE_CONCURRENCY: usize = 32;

/// Chunks that are read ahead of the lanes: 64 lanes take one each, and four ranges of 128 are not too many to hold.
pub const QUEUE_CHUNKS: usize = 512;
/// Manifest bytes that are read ahead (a 4 MiB chunk of 1 KiB files has 4096 lines of about 250 bytes: 1 MiB).
pub const QUEUE_MANIFEST_BYTES: usize = 64 << 20;
/// Adjacent chunks' manifest lines are read in one request of at most so much.
pub const MANIFEST_READ_BYTES: u64 = 8 << 20;

/// The sender looks at the membership and at failed chunks so often: a pair that joins waits a quarter of a second
/// on average, and two reads a second cost a tenth of a cent an hour.
pub const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// Both ends report progress and look at the fence so often.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// The peer's key is read again at most so often after failed handshakes.
pub const KEY_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// A broken lane reconnects at once so many times before the path counts as lost.
pub const LANE_RETRIES: u32 = 2;
/// Pause before a lost lane tries again; it doubles up to the maximum: 1 + 2 + 4 + 8 s, then every 8 s.
pub const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
pub const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(8);
/// A drained lane waits so long for its acknowledgements: several syncs on a slow disk.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// Time between SIGTERM and exit; the units are killed after 15 s.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// `notBefore` was written by another clock: longer than this is not believed.
pub const MAX_NOT_BEFORE: Duration = Duration::from_secs(300);

/// Lines of one listing or digest object: at about 250 bytes a line 12 MB.
pub const PART_LINES: usize = 50_000;
/// Problems that a survey names.
pub const PROBLEMS_NAMED: usize = 20;
/// Share of a probe's seconds for each intra-region probe: they run one after another, so 4 pairs take as long as one inter-region probe.
pub const INTRA_PROBE_SHARE: f64 = 0.25;
/// Burst of a token bucket as time at its rate: long enough for the scheduler's hiccups, short enough not to show in a rate over 1 s.
pub const BUCKET_BURST: Duration = Duration::from_millis(20);
/// Attempts per chunk when a directory is the control plane (it then plays the retry policy).
pub const DIRECTORY_MAX_ATTEMPTS: u32 = 5;
/// Port of all daemons.
pub const PORT: u16 = 4600;
