"""The laboratory: each figure of the papers that this project builds on, measured again with real bytes."""
