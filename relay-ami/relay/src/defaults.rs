//! Numbers, each with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

pub use cpt_control::defaults::*;
pub use cpt_ends::defaults::*;
pub use cpt_process::{STACK_BYTES, STOP_TIMEOUT};

/// Longest wait for a TCP connection. A SYN is repeated after 1 and 3 s; two repeats must fit.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Segments to a public address. An internet gateway drops packets of more than 1 500 bytes, and the ICMP message that would say so
/// may be dropped too. Machines in EC2 send up to 9 001.
pub const PUBLIC_SEGMENT_BYTES: u32 = 1_448;
/// Segments to a private address: peering between regions takes packets of 8 500 bytes.
pub const PRIVATE_SEGMENT_BYTES: u32 = 8_448;
/// Longest exchange with one relay, and longest TLS handshake, each as a whole: four round trips across three hops between regions of
/// 300 ms each are 3.6 s, and a relay's dial may lose two packets (1 + 2 s). A relay that is silent for `SILENT_AFTER` is lost 10 s after
/// its last word.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(7);
/// From this round trip on a stream asks for BBR, where the kernel has it: on a long path one lost packet halves what others
/// send, and lanes would take minutes to recover. Inside a region round trips are below 2 ms and the kernel's choice stays.
pub const LONG_ROUND_TRIP: Duration = Duration::from_millis(5);
/// First keepalive of TCP after so long of silence, and the pause between the next: a vanished peer is noticed within 10 + 3 × 5 = 25 s.
pub const TCP_KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const TCP_KEEPALIVE_PROBES: u32 = 3;
/// Sent bytes that stay unacknowledged so long break the connection. It counts for a living peer whose window is closed too,
/// so it must outlast a receiver's slowest sync: 1 024 chunks of 8 MiB at 125 MB/s are 69 s. Keepalives find idle dead peers sooner.
pub const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(90);

/// Connections at a relay or a receiver that have not shown yet who they are; each costs a thread and about 100 KiB. Security groups
/// let in known machines only; this bound holds against one of those, and by hand. The 179 lanes with which 32 pairs begin fit when all come at once.
pub const MAX_UNAUTHENTICATED: usize = 256;
/// So many of one address, so that one machine cannot take all places: 64 lanes of one path come from one address and may come at once.
/// What is beyond a bound is closed at once, since the sender's lanes come again by themselves; streams that run are never touched.
pub const MAX_UNAUTHENTICATED_PER_ADDRESS: usize = 64;
/// A relay gives a header so long, counted from accepting the connection: one round trip of the longest path (300 ms) and two lost
/// packets (1 + 3 s).
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A relay's pipe: the most that an unprivileged process may ask for; less only means more system calls.
pub const PIPE_BYTES: usize = 1 << 20;
/// A relay is woken once so much has come, or after the time: each wake-up costs some 5 µs. At 260 MB/s and more the bytes decide;
/// below it a stream is late by 1 ms a relay, which its acknowledgements do not wait for.
pub const GATHER_BYTES: i32 = 256 << 10;
pub const GATHER_TIME: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Largest frame of metadata: a message of 64 KiB, or two paths of 4096 bytes, and fixed fields.
pub const MAX_FRAME_BYTES: usize = 65 << 10;

/// Chunks of a lane that wait for their acknowledgement. The receiver syncs five times a second or more: at 1 GB/s and 8 MiB a
/// chunk, 24 are under way; 64 leaves room for round trips of 300 ms.
pub const LANE_WINDOW: usize = 64;
/// A receiver syncs again after so many times as long as the last sync took, so a tenth of its time goes into syncs of up to 20 ms: where
/// they cost little, files are placed while others are written, and little is left to do at the end …
pub const SYNC_PAUSES: u32 = 10;
/// … and no sooner than this, since each batch costs a wake-up, and no later than that, so that a slow sync does
/// not make acknowledgements late too: more often would turn large writes into small ones.
pub const SYNC_INTERVAL: RangeInclusive<Duration> = Duration::from_millis(20)..=Duration::from_millis(200);
/// Verified chunks that wait for their sync; beyond it lanes stop reading. 64 lanes × `LANE_WINDOW` would be 4096.
pub const COMMIT_QUEUE: usize = 1024;
/// Memory of those chunks' entries; beyond it lanes stop reading, since a chunk may hold 2 000. Of 120 000 entries without attributes.
pub const COMMIT_MEMORY: usize = 48 << 20;
/// An entry that has come and waits for its sync, beside its path and attributes: what tells of it, its partial file and that file's name.
pub const ENTRY_MEMORY: usize = 400;
/// Files in doubt that wait until they are read again, and are open meanwhile. While there are more, nothing is committed.
pub const CHECK_QUEUE: usize = 1024;
/// Verified bytes that wait for their sync: what the disk wrote in this time, by its last sync …
pub const UNSYNCED_TIME: Duration = Duration::from_secs(5);
/// … and so many always: eight chunks of 8 MiB, more than a sync interval brings at 300 MB/s.
pub const UNSYNCED_BYTES: u64 = 64 << 20;
/// Batches that are on the disk while the table takes an earlier one. One is enough to keep the disk at work; two more for a call
/// that is tried again.
pub const CHECKPOINT_QUEUE: usize = 3;
/// Verified chunks that are synced and read back together: at 8 MiB a chunk 1 GiB, so that an acknowledgement waits for
/// a sync and a reading of 9 s each at 125 MB/s.
pub const READBACK_BATCH: usize = 128;
/// Threads that look at the destination in the end, which the processors bound.
pub const LOOK_THREADS: usize = 8;
/// Lines of the listing that one of them takes at a time: a millisecond or two of work.
pub const LOOK_LINES: usize = 2_000;
/// The same where each look takes one round trip or two: at 20 ms, 64 threads look at 1 600 entries or more a second. They take fewer at a
/// time, so that a thousand entries have work for most of them.
pub const LOOK_THREADS_FAR: usize = 64;
pub const LOOK_LINES_FAR: usize = 25;
/// Entries that are named where they are not as they should be.
pub const LOOK_NAMED: usize = 10;
/// Times that the listing is tried to be read, each for as long as a call may take.
pub const LOOK_TRIES: u32 = 10;

/// A receiver says on each lane so often that it lives.
pub const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// A lane that is silent for so long while another path is heard is cut and connected anew: three words were lost, which takes four
/// losses of one packet in a row.
pub const SILENT_AFTER: Duration = Duration::from_secs(3);
/// The receiver was heard so recently that it is heard: two words, of which one may be late.
pub const HEARD_WITHIN: Duration = Duration::from_secs(2);
/// A file system or table that answers no sooner keeps the receiver busy.
pub const BUSY_AFTER: Duration = Duration::from_secs(1);
/// Share of the transfer's bytes that may be sent twice without a fault, because a lane is late.
pub const HEDGED_SHARE: f64 = 0.02;
/// A chunk is late if the lane that has it needs so many times as long as an idle one.
pub const LATE_FACTOR: u32 = 2;

/// Lanes that both ends have memory for when they start; each further one asks first.
pub const LANES_AT_START: usize = 64;
/// Threads that open files ahead, of all lanes together.
pub const AHEAD_THREADS: usize = 64;
/// Files that are opened ahead of one lane at most: two for each thread.
pub const AHEAD_FILES: usize = 32;
/// A lane at either end: buffers for plaintext and ciphertext each way and for reading, two stacks, what the kernel holds for its socket, and
/// at the receiver the entries of the chunk that is arriving.
pub const LANE_MEMORY: u64 = 2 << 20;
/// A sender beside its lanes: manifest lines read ahead, digests, 16 MiB for the program and its clients, and 8 MiB for the first bytes of
/// files that are opened ahead of four lanes.
pub const SENDER_MEMORY: u64 = QUEUE_MANIFEST_BYTES as u64 + ENTRY_TABLE_MEMORY as u64 + (24 << 20);
/// A receiver beside its lanes: entries that wait for their sync, holes of 32 bytes each, and the rest as at the sender. A chunk that is
/// arriving is its lane's.
pub const RECEIVER_MEMORY: u64 = COMMIT_MEMORY as u64 + 32 * HOLES_OF_ALL as u64 + ENTRY_TABLE_MEMORY as u64 + (16 << 20);
/// A long path begins with as many lanes as this rate needs over its round trip: 5 Gbit/s are the most that a machine of fewer than 32
/// processors sends to another region, and that one flow carries …
pub const START_MB_S: f64 = 625.0;
/// … but not with more: beside a single stream of somebody else 16 take 16/17 of the path, where 8, as other tools have them, take 8/9.
pub const START_LANES: u32 = 16;
/// A path's need for lanes is looked at so often: new lanes take some seven round trips from 14 KB to 2 MB, so a trial of three looks at
/// five round trips each sees them at their speed …
pub const GROWTH_ROUND_TRIPS: u32 = 5;
/// … and not more often than this, since rates of shorter times are noise.
pub const GROWTH_INTERVAL: Duration = Duration::from_millis(300);
/// Whether it is time for that is looked at so often.
pub const GROWTH_LOOK: Duration = Duration::from_millis(100);
/// Lanes want company where they wait for room in their send buffers for so much of the time that they have data under way.
pub const GROWTH_BLOCKED: f64 = 0.2;
/// New lanes stay if the path then carries so much more: 5 % is above the noise of such a time's rate.
pub const GROWTH_GAIN: f64 = 1.05;
/// Looks before that is judged.
pub const GROWTH_TRIAL: u32 = 3;
/// After a trial that brought nothing the next one waits so long, and twice as long each time, unless the path carries more by then: a
/// trial of twice the lanes costs some handshakes.
pub const GROWTH_PAUSE: Duration = Duration::from_secs(10);
pub const GROWTH_PAUSE_MAX: Duration = Duration::from_secs(80);

/// Chunks that are read ahead of the lanes: 64 lanes take one each, and four ranges of 128 are not too many to hold.
pub const QUEUE_CHUNKS: usize = 512;
/// Manifest lines that are read ahead, under way, or wait for somebody's decision: a chunk has 1 MiB of them at most. At 250 bytes a line
/// the 130 chunks bring 270 000 files for each round trip and sync.
pub const QUEUE_MANIFEST_BYTES: usize = 64 << 20;
/// Pauses before an entry of the destination is looked at again that cannot be looked at.
pub const LOOK_AGAIN: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1600)];
/// Times that a file is read again because its change time has moved while it was read: names of it that are made or removed, a mode, an
/// owner. With a snapshot by hard links each hour that is most of a day.
pub const SECOND_LOOKS: u32 = 16;
/// Entries in a row that a sender beside others may fail to read before it is taken for its machine's trouble. A damaged directory of a tree has
/// fewer that cannot be opened for the moment, and a mount that is gone fails every one.
pub const MOST_UNREAD: u64 = 64;
/// Times that the files that differ at the end are sent again: what spoiled them thrice would spoil them a fourth time.
pub const REPAIR_ROUNDS: u32 = 3;
/// Entries left out that the sender's log names, and that an error's words count up from.
pub const SKIPPED_NAMED: usize = 1000;
/// Paths and messages of entries left out that a sender keeps: of about 100 000 at 160 bytes. Of all others it keeps the number.
pub const SKIPPED_TEXT_BYTES: usize = 16 << 20;
/// A destination that takes nothing is tried so often with the chunk that it refused first, and so long: somebody who makes room, or
/// a file server that fails over, takes less; relays cost money meanwhile.
pub const FULL_PROBE_INTERVAL: Duration = Duration::from_secs(5);
pub const FULL_LIMIT: Duration = Duration::from_secs(60);
/// Delivered chunks that are looked up at once to read their files again: their lines, 1 MiB each at most, are held meanwhile.
pub const RECALL_CHUNKS: usize = 16;
/// Adjacent chunks' manifest lines are read in one request of at most so much.
pub const MANIFEST_READ_BYTES: u64 = 8 << 20;

/// The sender looks at the membership and at failed chunks so often: a pair that joins waits a quarter of a second
/// on average, and two reads a second cost a tenth of a cent an hour.
pub const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// A transfer of which so long no chunk is delivered and no path changes keeps its relays no longer: the state machine gives it up
/// after the same time. Where there is none any more, since its stack was deleted, this ends the relays.
pub const STANDSTILL: Duration = Duration::from_secs(300);
/// By which a look at the meter may be late: `LATE_SECONDS` of the control plane, a minute and a quarter between two looks and five
/// minutes.
pub const LATEST_LOOK: Duration = Duration::from_secs(375);
/// What arms a machine's power-off, before the time, `+MINUTES`; once more takes the place of the one before. Nobody is logged in
/// who would have to be told.
pub const POWER_OFF: [&str; 3] = ["shutdown", "-P", "--no-wall"];
/// Both ends report progress and look at the fence so often.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// The peer's key is read again at most so often after failed handshakes.
pub const KEY_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// A daemon that has died is started again by systemd in 0.2 s, and listens within a second; on a busy machine within two. For so long a
/// broken lane keeps its chunks and comes again; then the path counts as lost.
pub const COMES_BACK_WITHIN: Duration = Duration::from_secs(3);
/// The first time it comes again at once, then so often.
pub const COMES_BACK_LOOK: Duration = Duration::from_millis(200);
/// Pause before a lost lane tries again; it doubles up to the maximum. A receiver that is back is found that soon.
pub const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
pub const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);
/// A lane whose path is gone waits so long for its acknowledgements: several syncs on a slow disk. What it then still has goes to others.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
/// A lane that goes because its path has too many may bring over what it has: the largest chunk, 1 GiB, at 2 MB/s.
pub const LEISURE: Duration = Duration::from_secs(600);
/// Once both ends agree, lanes that hang are not waited for longer than the last words take.
pub const PARTING_TIMEOUT: Duration = Duration::from_secs(1);
/// An end whose call has been under way for longer waits for the control plane, and does not stand still by its own fault: a call
/// that works takes 5 s at most, its own first retries included. After `STANDSTILL` it stands still all the same.
pub const CONTROL_SLOW: Duration = Duration::from_secs(5);
/// A call of the file system that has been under way for longer may hang, so whoever is in it waits for nobody else. Shorter than two
/// of the three reports by which a standstill is judged; a busy disk that takes as long still moves other bytes meanwhile.
pub const FILE_SYSTEM_SLOW: Duration = Duration::from_secs(5);
/// A failed chunk that nobody has decided about is told of again: its function takes a second, and is invoked again after a minute.
pub const ASK_AGAIN: Duration = Duration::from_secs(5);
/// A command is obeyed for so long after it was written, as long as the units run: systemd starts a daemon again that has died, and a
/// transfer takes 7 days at most.
pub const ORDER_KEPT: Duration = Duration::from_secs(8 * 86_400);
/// `notBefore` was written by another clock: longer than this is not believed. The retry policy asks for 8 s at most.
pub const MAX_NOT_BEFORE: Duration = Duration::from_secs(10);

/// Lines of one listing or digest object: at about 250 bytes a line 12 MB.
pub const PART_LINES: usize = 50_000;
/// Lines of a listing's first object; each other one has twice as many, up to `PART_LINES`. The first chunk can be planned after
/// a second where a disk shows 100 entries in it. By lines and not by time, so that whoever lists again writes the same objects.
pub const FIRST_PART_LINES: usize = 100;
/// Problems that a survey names.
pub const PROBLEMS_NAMED: usize = 20;
/// Names of extended attributes that a survey tells: a machine's programs have a few.
pub const UNKEPT_NAMED: usize = 20;
/// Streams of a probe: eight windows of 4 MiB carry 270 MB/s over 125 ms (Oregon to Ireland) and pass the 5 Gbit/s of one flow inside.
pub const PROBE_STREAMS: usize = 8;
/// Share of a probe's seconds for the intra-region probe, which all paths of a pre-test wait for.
pub const INTRA_PROBE_SHARE: f64 = 0.25;
/// Port of all daemons.
pub const PORT: u16 = 4600;
/// What a probe sends each way: enough packets of full size that a network which drops them is noticed.
pub const PROBE_BYTES: usize = 64 << 10;
/// A probe that is refused goes on for so long: the machine is there, and the other probe is still being installed.
pub const PROBE_REFUSED: Duration = Duration::from_secs(60);
/// Wait for the port: a probe lets go of it once it has answered. Start Transfer waits 20 s for the receiver.
pub const PORT_WAIT: Duration = Duration::from_secs(15);
pub const PORT_LOOK: Duration = Duration::from_millis(50);
/// A removal asks so often whether its order still holds. It removes some 100 000 entries a second at most, and one that is stopped by hand
/// shall not go on for long.
pub const ORDER_CHECKED: Duration = Duration::from_secs(1);
