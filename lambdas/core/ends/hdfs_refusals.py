"""What HDFS refuses, by the names of its exceptions or their words, and what somebody can do about it."""

_REMEDIES = (
    ("encryption zone", "name a path outside of the zone, or copy with DistCp, which has its keys"),
    (
        "erasure coded",
        "name a directory whose files are replicated (hdfs ec -getPolicy -path), or set that policy for it",
    ),
    (
        "data nodes that take a block",
        "write fewer as $.destination.replication, or start more data nodes (hdfs dfsadmin -report -live)",
    ),
    ("could only be written to", "start more data nodes or free some of their space (hdfs dfsadmin -report)"),
    ("required minimum", "write more as $.destination.replication"),
    ("exceeds maximum", "write fewer as $.destination.replication"),
    ("a byte was not taken", "let each worker reach each data node, by the port of its dfs.datanode.address"),
    ("all nodes failed", "let each worker reach each data node, by the port of its dfs.datanode.address"),
    ("cannot change owner", "name a superuser of HDFS as $.destination.user, or leave $.preserve.owners out"),
    ("support for acls", "set dfs.namenode.acls.enabled, or leave $.preserve.acls out"),
    ("support for xattrs", "set dfs.namenode.xattrs.enabled, or leave $.preserve.xattrs out"),
    ("has no trash", "set fs.trash.interval for the name node, or leave $.destination.trash out"),
    ("snapshotaccesscontrol", "choose a destination that is in no snapshot"),
    ("accesscontrol", "let the user that the request names do it (hdfs dfs -chmod or -setfacl), or name another user"),
    ("permission", "let the user that the request names do it (hdfs dfs -chmod or -setfacl), or name another user"),
    ("safemode", "wait until the name node has left safe mode (hdfs dfsadmin -safemode get)"),
    ("safe mode", "wait until the name node has left safe mode (hdfs dfsadmin -safemode get)"),
    ("quota", "raise the quota (hdfs dfsadmin -setQuota or -setSpaceQuota), or choose another destination"),
    ("hadoop configuration", "name instances that have the cluster's Hadoop configuration"),
)


def remedy_of(said: str) -> str | None:
    """What to do about a refusal; `said`: the exception or its words. None where that is as of any path."""
    told = said.lower()
    return next((remedy for words, remedy in _REMEDIES if words in told), None)
