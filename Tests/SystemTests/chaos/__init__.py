"""Experiments: faults injected into the built service, and what happens to every event."""
