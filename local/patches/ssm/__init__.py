"""Run Command and its agents."""
