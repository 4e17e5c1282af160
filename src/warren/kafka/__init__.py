"""The wire format of `__consumer_offsets`, and client profiles as librdkafka properties."""
