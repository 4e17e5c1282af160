"""A real Kafka broker in the box and live traffic for it: what the demo, the tests and the benchmarks stand on."""
