//! Nothing: only its dependencies are fetched.
