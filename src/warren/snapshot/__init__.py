"""The last complete answer, immutable and swapped at once."""
