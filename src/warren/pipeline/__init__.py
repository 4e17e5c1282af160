"""One Spark streaming query per Kafka cluster: wires the rooms together."""
