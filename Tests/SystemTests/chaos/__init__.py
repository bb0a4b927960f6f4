"""Experiments: faults against the built service, and what came of every event."""
