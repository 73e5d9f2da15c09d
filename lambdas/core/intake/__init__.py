"""The rules that accept a request, and the facts that are known before anything is planned."""
