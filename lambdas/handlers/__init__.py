"""One file per state of the state machine or event rule."""
