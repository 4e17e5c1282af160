"""The messages that Warren sends when a module names no templates."""
