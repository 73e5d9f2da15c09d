"""The deployment's dashboard as CloudWatch shows its custom widgets, at `/_local/dashboard`."""
