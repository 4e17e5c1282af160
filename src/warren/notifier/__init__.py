"""Incidents and the messages about them: who is told of a group in trouble, when, and how."""
