"""What HDFS refuses, by the names of its exceptions or their words, and what somebody can do about it."""

_REMEDIES = (
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
