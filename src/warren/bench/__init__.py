"""Benchmarks on this machine: workloads, measured processes, and reports."""
