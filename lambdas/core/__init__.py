"""Pure rules: no AWS call, no environment, no clock of its own."""
