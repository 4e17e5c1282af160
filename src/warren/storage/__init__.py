"""Sliding windows of commits: a pure core over arrays, and the Spark operator around it."""
