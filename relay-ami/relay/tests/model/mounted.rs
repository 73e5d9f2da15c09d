//! Disks that come and go: a directory beside an end is mounted over a directory of it, and what was written there stays. As root only.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Room for a few trees; only what is written takes any.
const IMAGE_BYTES: u64 = 256 << 20;

/// What lies over a directory of an end, if it is mounted there.
fn over(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let beside = |what: &str| root.with_extension(what);
    let places = [(beside("whole"), root.to_path_buf()), (beside("below"), root.join("disk"))];
    places.into_iter().find(|(disk, _)| disk.is_dir())
}

fn is_there(disk: &Path, place: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    id(disk).is_some() && id(disk) == id(place)
}

fn done(command: &mut Command) -> io::Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// Whoever has it open keeps it, as a program does whose disk is pulled out.
fn unmount(place: &Path) -> io::Result<()> {
    done(Command::new("umount").arg("--lazy").arg(place))
}

/// Takes the disk of an end away, or brings it back where it is away; fails where nothing is left to mount it on.
pub fn exchange(root: &Path) -> io::Result<()> {
    let Some((disk, place)) = over(root) else { return Ok(()) };
    if is_there(&disk, &place) { unmount(&place) } else { done(Command::new("mount").arg("--bind").args([disk, place])) }
}

/// What was mounted for a sequence, the last one first: it is gone when this is dropped.
#[derive(Default)]
pub struct Mounts(Vec<PathBuf>);

impl Mounts {
    /// A new file system at `at`, which is made.
    pub fn image(&mut self, options: &[&str], at: &Path) -> io::Result<()> {
        let image = at.with_extension("image");
        fs::create_dir(at)?;
        fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
        done(Command::new("mkfs.ext4").args(["-q", "-O", "^has_journal"]).args(options).arg(&image))?;
        done(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(at))?;
        self.0.push(at.to_path_buf());
        fs::remove_dir(at.join("lost+found"))
    }

    /// A disk over all of an end, which is made too, or over a directory `disk` of it.
    pub fn disk(&mut self, root: &Path, is_whole: bool) -> io::Result<()> {
        let (disk, place) = if is_whole { ("whole", root.to_path_buf()) } else { ("below", root.join("disk")) };
        fs::create_dir_all(root.with_extension(disk))?;
        fs::create_dir_all(&place)?;
        exchange(root)?;
        self.0.push(place);
        Ok(())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        // What is away already needs nothing; each may have been mounted once.
        self.0.iter().rev().for_each(|place| drop(unmount(place)));
    }
}
