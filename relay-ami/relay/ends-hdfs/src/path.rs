//! Which paths HDFS has.

use std::io;

/// Beginning of the names below which receivers keep what is not in its place; no entry of a transfer has such a name.
pub const PARTIAL: &str = ".cpt-partial-";

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}

/// A path below a directory; a sender's path may be anything.
pub fn below(directory: &str, path: &[u8]) -> io::Result<String> {
    let path = std::str::from_utf8(path).map_err(|_| refused("a name of HDFS is UTF-8, and this one is not"))?;
    if path.split('/').any(|name| matches!(name, "" | "." | "..")) || path.contains('\0') {
        return Err(refused("it is no path below the destination"));
    }
    let is_reserved = directory == "/" && path.split('/').next() == Some(".reserved");
    if is_reserved || path.split('/').any(|name| name == ".snapshot") {
        return Err(refused("HDFS keeps the names .snapshot and /.reserved for itself"));
    }
    if path.contains(':') {
        return Err(refused("HDFS takes no name with ':'"));
    }
    if path.split('/').next().is_some_and(|top| top.starts_with(PARTIAL)) {
        return Err(refused("names that begin so are those of transfers under way"));
    }
    Ok(join(directory, path))
}

/// A name in a directory.
pub fn join(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

/// A path as HDFS takes it: no slash twice, and none at its end.
pub fn plain(path: &str) -> String {
    let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    format!("/{}", names.join("/"))
}

/// The directory and the name in it.
pub fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(both) => both,
        None => ("/", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hdfs_does_not_take_or_that_leave_the_destination_are_refused() {
        assert_eq!(below("/to/", b"d/x").unwrap(), "/to/d/x");
        assert_eq!(below("/", "ä".as_bytes()).unwrap(), "/ä");
        for wrong in [&b"../x"[..], b"/x", b"", b"a//b", b"a:b", b"\xff", b".cpt-partial-t/x", b"a/./b", b"d/.snapshot"] {
            assert_eq!(below("/to", wrong).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong:?}");
        }
    }

    #[test]
    fn paths_are_split_where_their_last_name_begins() {
        assert_eq!((plain("//a/./b/").as_str(), plain("/").as_str()), ("/a/b", "/"));
        assert_eq!((split("/a/b"), split("/a"), split("/")), (("/a", "b"), ("/", "a"), ("/", "")));
    }
}
