"""GREEN's sweep: tools by streams by windows between two machines, with a record of each run."""
