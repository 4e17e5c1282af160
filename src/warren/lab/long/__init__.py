"""`warren lab --long`: hours and days of traffic with chance in it."""
