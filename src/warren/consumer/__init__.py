"""Commits of consumer groups, as Spark data sources."""
