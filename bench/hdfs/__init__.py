"""CPT beside DistCp, between two real Hadoops."""
