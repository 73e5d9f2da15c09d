//! Sources of which two would bring something to one path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::listing::problem;
use super::roots::Root;
use cpt_ends::Each;
use cpt_ends::Halted;
use cpt_ends::above::above;

/// A path of the request, with the names in its directory that land.
pub type Brought = (Root, Vec<Vec<u8>>);

/// Two sources for one path are a problem, two directories included: their modes and times could not both arrive, and
/// what they hold might meet below. So is what one source brings into a directory of another one. The first one stays listed, so no path
/// is listed twice. Below what the paths bring nothing can meet then, and a single root has no name twice: the memory that this takes
/// is bounded by these names.
pub fn leave_out_collisions(roots: &mut [Brought], each: Each<'_>) -> Result<(), Halted> {
    if roots.len() < 2 {
        return Ok(());
    }
    let mut taken: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    let mut problems = Vec::new();
    for (root, names) in roots {
        names.retain(|name| {
            let (path, lands_as) = (root.path_of(name), root.landing(name).into_owned());
            let Some((at, first)) = meets(&taken, &lands_as) else {
                taken.insert(lands_as, path);
                return true;
            };
            let (there, here) = (OsStr::from_bytes(at), OsStr::from_bytes(&lands_as));
            let reason = if there == here {
                format!("this and {path:?} both land as {there:?} at the destination")
            } else {
                format!("this lands as {there:?} at the destination, and {path:?} as {here:?}: one would be below the other")
            };
            problems.push(problem(first.as_os_str().as_bytes(), reason));
            false
        });
    }
    problems.into_iter().try_for_each(each)
}

/// What lands as this, in it, or as a directory above it.
fn meets<'a>(taken: &'a BTreeMap<Vec<u8>, PathBuf>, path: &[u8]) -> Option<(&'a Vec<u8>, &'a PathBuf)> {
    let below = [path, b"/"].concat();
    let same_or_above = above(path).chain([path]).find_map(|path| taken.get_key_value(path));
    same_or_above.or_else(|| taken.range(below.clone()..).next().filter(|(next, _)| next.starts_with(&below)))
}
