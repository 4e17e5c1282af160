"""Snapshots: the state of a cluster after a trigger, immutable and replaced atomically."""
