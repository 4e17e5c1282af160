"""A real Kafka broker in the box and live traffic for it: what demo, tests and benchmarks stand on."""
