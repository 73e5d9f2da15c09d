"""A real HDFS: one name node and data nodes of Hadoop, on this machine alone or on instances of a local cloud."""
