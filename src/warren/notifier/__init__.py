"""Incidents and the messages about them: who is notified, when, and how."""
