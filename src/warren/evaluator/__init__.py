"""The rules: pure, vectorised functions from windows to statuses."""
