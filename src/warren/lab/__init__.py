"""`warren lab`: simulated traffic with known verdicts, evaluated by the real windows and rules."""
