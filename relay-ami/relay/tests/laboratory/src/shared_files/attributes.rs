//! What a file is told to be like, by the server's clock.

use std::time::{Duration, SystemTime};

use fuser::{FileAttr, INodeNo, TimeOrNow};
use rustix::fs::{AtFlags, CWD, FileType, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Result;

use crate::nodes::{Node, kind};
use crate::switches::Habits;

const OMIT: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };

/// `inode` is the number that the kernel knows it by.
pub fn of(stat: &Stat, inode: INodeNo, habits: Habits) -> FileAttr {
    let told = |seconds: i64, nanoseconds: u64| time(seconds, u32::try_from(nanoseconds).unwrap_or(0), habits.step_ns);
    FileAttr {
        ino: inode,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
        atime: told(stat.st_atime, stat.st_atime_nsec),
        mtime: told(stat.st_mtime, stat.st_mtime_nsec),
        // Nobody can set it: the server's clock is put in here.
        ctime: told(stat.st_ctime + habits.clock, stat.st_ctime_nsec),
        crtime: SystemTime::UNIX_EPOCH,
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        perm: u16::try_from(stat.st_mode & 0o7777).unwrap_or(0),
        nlink: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: u32::try_from(stat.st_rdev).unwrap_or(0),
        blksize: 4096,
        flags: 0,
    }
}

fn time(seconds: i64, nanoseconds: u32, step_ns: u32) -> SystemTime {
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let kept = if step_ns == 0 { all } else { all.div_euclid(i128::from(step_ns)) * i128::from(step_ns) };
    let distance = Duration::from_nanos_u128(kept.unsigned_abs());
    if kept < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
}

/// By the server's clock.
fn now(habits: Habits) -> Timespec {
    if habits.clock == 0 {
        return Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timespec { tv_sec: i64::try_from(since.as_secs()).unwrap_or(0) + habits.clock, tv_nsec: i64::from(since.subsec_nanos()) }
}

fn wished(time: Option<TimeOrNow>, habits: Habits) -> Timespec {
    match time {
        None => OMIT,
        Some(TimeOrNow::Now) => now(habits),
        Some(TimeOrNow::SpecificTime(at)) => match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: i64::from(since.subsec_nanos()) },
            Err(before) => {
                let (seconds, rest) = (before.duration().as_secs().cast_signed(), i64::from(before.duration().subsec_nanos()));
                if rest == 0 {
                    Timespec { tv_sec: -seconds, tv_nsec: 0 }
                } else {
                    Timespec { tv_sec: -seconds - 1, tv_nsec: 1_000_000_000 - rest }
                }
            }
        },
    }
}

pub fn set_times(node: &Node, atime: Option<TimeOrNow>, mtime: Option<TimeOrNow>, habits: Habits) -> Result<()> {
    let times = Timestamps { last_access: wished(atime, habits), last_modification: wished(mtime, habits) };
    rustix::fs::utimensat(CWD, node.path(), &times, AtFlags::empty())
}

/// These were changed just now: by a clock that is not this machine's, their times are others.
pub fn changed(nodes: &[&Node], habits: Habits) -> Result<()> {
    if habits.clock != 0 {
        for node in nodes {
            set_times(node, None, Some(TimeOrNow::Now), habits)?;
        }
    }
    Ok(())
}
