"""An embedded Kafka broker and live traffic for it, for the demo, tests and benchmarks."""
