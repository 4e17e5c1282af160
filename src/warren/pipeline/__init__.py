"""One Spark streaming query per Kafka cluster: connects the other packages."""
