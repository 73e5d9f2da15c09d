"""What both ends have said of themselves."""
