"""The steps that accept a request and look at both ends before anything is planned."""
