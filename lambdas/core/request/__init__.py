"""What a person may ask for, and what is wrong with what he asked."""
