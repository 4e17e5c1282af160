"""The laboratory: traffic whose right verdict is known, judged by the real windows and rules."""
