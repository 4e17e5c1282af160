"""Measures Warren on this machine: workloads, the processes that carry them, and reports."""
