"""What is accepted, and what is known before anything is planned."""
